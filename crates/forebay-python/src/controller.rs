//! Controllers that are classes of Python: registered under a name, as those of any other program.

use crate::errors::Failure;
use crate::values::toml_value;
use forebay_base::{OptionList, Rate, Span, Time};
use forebay_cc::{
    Ack, Congestion, CongestionCause, Controller, Init, Limits, Recovered, RecoveryOwner, RttView,
    Timeout, Traits,
};
use forebay_lab::scenario::{Registration, Registry};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use std::fmt::Display;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// What ends runs: Ctrl-C, or a controller that raised.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    /// True once runs are to end.
    pub flag: AtomicBool,
    raised: Mutex<Option<PyErr>>,
}

impl Stop {
    /// End the runs because of this exception. The first one counts.
    fn raise(&self, error: PyErr) {
        let mut raised = self.raised.lock().expect("nothing panics while it holds this lock");
        raised.get_or_insert(error);
        self.flag.store(true, Ordering::Relaxed);
    }
    /// The exception that ended the runs, once.
    pub fn raised(&self) -> Option<PyErr> {
        self.raised.lock().expect("nothing panics while it holds this lock").take()
    }
}

/// Register the classes of `controllers`, by name. `stop` learns of what they raise.
pub(crate) fn register(
    registry: &mut Registry,
    controllers: &Bound<'_, PyDict>,
    stop: &Arc<Stop>,
) -> PyResult<()> {
    for (name, class) in controllers.iter() {
        let name: String = name.extract()?;
        for method in ["on_ack", "on_loss"] {
            if !class.hasattr(method)? {
                let text = format!("the controller `{name}` has no method `{method}`");
                return Err(PyTypeError::new_err(text));
            }
        }
        let (of, stop) = (Arc::new(Class::of(&name, &class)?), Arc::clone(stop));
        let summary = class.getattr("__doc__")?.extract::<Option<String>>()?.unwrap_or_default();
        let defaults = of.defaults.clone();
        let registration = Registration::new(name, move |params: &toml::Table, init| {
            PythonController::new(&of, params, init, Arc::clone(&stop))
        });
        let first = summary.trim().lines().next().unwrap_or_default().to_string();
        let registration = registration.summary(first).about(summary);
        let registered = registry.register_with(registration, defaults);
        registered.map_err(|error| Failure::Argument(format!("controllers: {error}")))?;
    }
    Ok(())
}

/// What was raised, as the interpreter prints it.
pub(crate) fn with_traceback(py: Python<'_>, raised: &PyErr) -> PyResult<String> {
    // All three: before Python 3.12 the traceback of what was caught is not in its value.
    let of = (raised.get_type(py), raised.value(py), raised.traceback(py));
    let lines = py.import("traceback")?.call_method1("format_exception", of)?;
    let lines: Vec<String> = lines.extract()?;
    Ok(lines.concat().trim_end().to_string())
}

/// A class of controllers.
struct Class {
    name: String,
    class: Py<PyAny>,
    defaults: toml::Table,
}

impl Class {
    fn of(name: &str, class: &Bound<'_, PyAny>) -> PyResult<Class> {
        let (file, mut defaults) = (format!("controllers.{name}"), toml::Table::new());
        if let Some(params) = class.getattr_opt("params")? {
            for (key, value) in params.cast::<PyDict>()?.iter() {
                let key: String = key.extract()?;
                let value = toml_value(&value, &file, &key)?;
                defaults.insert(key, value);
            }
        }
        Ok(Class { name: name.to_string(), class: class.clone().unbind(), defaults })
    }

    /// A controller of this class for one path.
    fn make(&self, py: Python<'_>, params: &toml::Table, init: InitView) -> PyResult<Py<PyAny>> {
        let keywords = PyDict::new(py);
        for (key, value) in params {
            keywords.set_item(key, python_value(py, value)?)?;
        }
        let arguments = PyTuple::new(py, [Bound::new(py, init)?])?;
        Ok(self.class.bind(py).call(arguments, Some(&keywords))?.unbind())
    }
}

fn python_value<'py>(py: Python<'py>, value: &toml::Value) -> PyResult<Bound<'py, PyAny>> {
    let json = serde_json::to_string(value).expect("a TOML value is a JSON value");
    py.import("json")?.call_method1("loads", (json,))
}

/// The inputs of a controller's constructor.
#[pyclass(frozen, get_all, name = "Init", module = "forebay")]
pub(crate) struct InitView {
    mss_bytes: u32,
    initial_window_bytes: u64,
    initial_ssthresh_bytes: Option<u64>,
    paced: bool,
    seed: u64,
}

/// What an ACK says.
#[pyclass(frozen, get_all, name = "Ack", module = "forebay")]
pub(crate) struct AckView {
    acked_bytes: u64,
    delivered_bytes: u64,
    total_delivered_bytes: u64,
    in_flight_bytes: u64,
    prior_in_flight_bytes: u64,
    snd_una: u64,
    snd_nxt: u64,
    rtt_s: Option<f64>,
    srtt_s: Option<f64>,
    min_rtt_s: Option<f64>,
    delivery_rate_bps: Option<f64>,
    app_limited: bool,
    cwnd_limited: bool,
    in_recovery: bool,
    duplicate: bool,
    ecn_echo: bool,
}

impl AckView {
    fn of(ack: &Ack<'_>) -> AckView {
        let seconds = |span: Span| span.as_secs_f64();
        let rate = ack.rate.filter(|rate| !rate.interval.is_zero());
        AckView {
            acked_bytes: ack.acked_bytes,
            delivered_bytes: ack.delivered_bytes,
            total_delivered_bytes: ack.total_delivered_bytes,
            in_flight_bytes: ack.in_flight_bytes,
            prior_in_flight_bytes: ack.prior_in_flight_bytes,
            snd_una: ack.snd_una,
            snd_nxt: ack.snd_nxt,
            rtt_s: ack.rtt_sample.map(seconds),
            srtt_s: ack.rtt.srtt.map(seconds),
            min_rtt_s: Some(ack.rtt.min).filter(|min| *min < Span::MAX).map(seconds),
            delivery_rate_bps: rate
                .map(|rate| rate.delivered_bytes as f64 * 8.0 / rate.interval.as_secs_f64()),
            app_limited: rate.is_some_and(|rate| rate.app_limited),
            cwnd_limited: ack.cwnd_limited,
            in_recovery: ack.in_recovery,
            duplicate: ack.duplicate,
            ecn_echo: ack.ecn_echo,
        }
    }
}

/// Congestion, at most once per window of data.
#[pyclass(frozen, get_all, name = "Loss", module = "forebay")]
pub(crate) struct LossView {
    cause: &'static str,
    flight_size_bytes: u64,
    first: bool,
}

/// The object of a path.
enum Object {
    /// It is made when the path is established: what asks a controller about its traits alone has
    /// none.
    Due(Box<(Arc<Class>, toml::Table, InitView)>),
    Made(Py<PyAny>),
    /// It has raised.
    Gone,
}

/// One path of a flow whose controller is an object of Python.
struct PythonController {
    name: String,
    object: Object,
    limits: Limits,
    mss_bytes: u64,
    owner: RecoveryOwner,
    stop: Arc<Stop>,
}

impl PythonController {
    fn new(
        of: &Arc<Class>,
        params: &toml::Table,
        mut init: Init,
        stop: Arc<Stop>,
    ) -> PythonController {
        let view = InitView {
            mss_bytes: init.mss_bytes,
            initial_window_bytes: init.initial_window_bytes,
            initial_ssthresh_bytes: Some(init.initial_ssthresh_bytes)
                .filter(|&bytes| bytes < u64::MAX),
            paced: init.paced,
            seed: init.rng.next_u64(),
        };
        PythonController {
            name: of.name.clone(),
            limits: Limits::window(view.initial_window_bytes),
            mss_bytes: u64::from(view.mss_bytes),
            owner: RecoveryOwner::Transport,
            object: Object::Due(Box::new((Arc::clone(of), params.clone(), view))),
            stop,
        }
    }

    /// Let the object act, then read what it allows. What it raises ends the runs.
    fn act(&mut self, py: Python<'_>, act: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<()>) {
        let made = match std::mem::replace(&mut self.object, Object::Gone) {
            Object::Due(due) => due.0.make(py, &due.1, due.2),
            Object::Made(object) => Ok(object),
            Object::Gone => return,
        };
        let acted = made.and_then(|object| {
            let bound = object.bind(py);
            act(bound).and_then(|()| self.read(bound))?;
            Ok(object)
        });
        match acted {
            Ok(object) => self.object = Object::Made(object),
            Err(error) => self.stop.raise(error),
        }
    }

    /// Take over window, pacing rate and who owns recovery.
    fn read(&mut self, object: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = object.py();
        let cwnd = number(object, pyo3::intern!(py, "cwnd"), &self.name, "bytes")?;
        let Some(cwnd_bytes) = cwnd else {
            let text = format!("`cwnd` of the controller `{}` is None", self.name);
            return Err(PyValueError::new_err(text));
        };
        let rate = number(object, pyo3::intern!(py, "pacing_rate"), &self.name, "bit/s")?;
        self.limits = Limits {
            cwnd_bytes: (cwnd_bytes as u64).clamp(self.mss_bytes, Limits::MAX_CWND_BYTES),
            pacing_rate: rate.map(|bps| Rate::clamped(bps as u64)),
            ..self.limits
        };
        let owns = object.getattr_opt(pyo3::intern!(py, "owns_recovery"))?;
        let owns = owns.map_or(Ok(false), |owns| owns.is_truthy())?;
        self.owner = if owns { RecoveryOwner::Controller } else { RecoveryOwner::Transport };
        Ok(())
    }

    fn on_event(&mut self, now: Time, method: &str, event: LossView) {
        Python::attach(|py| {
            self.act(py, |object| {
                let name = if object.hasattr(method)? { method } else { "on_loss" };
                object.call_method1(name, (now.as_secs_f64(), event)).map(drop)
            });
        });
    }
}

/// The number of an attribute, None if that is None or missing. It is finite and not negative.
fn number(
    object: &Bound<'_, PyAny>,
    attribute: &Bound<'_, PyString>,
    name: &str,
    unit: &str,
) -> PyResult<Option<f64>> {
    let Some(value) = object.getattr_opt(attribute)?.filter(|value| !value.is_none()) else {
        return Ok(None);
    };
    let expected = format!("expected a finite number of {unit} that is not negative");
    let refused = |found: &dyn Display| {
        format!("`{attribute}` of the controller `{name}`: {expected}, found {found}")
    };
    match value.extract::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(Some(number)),
        Ok(number) => Err(PyValueError::new_err(refused(&number))),
        Err(_) => Err(PyTypeError::new_err(refused(&value.repr()?))),
    }
}

impl Controller for PythonController {
    fn limits(&self) -> Limits {
        self.limits
    }

    fn traits(&self) -> Traits {
        Traits { edits_headers: false, ..Traits::default() }
    }

    fn recovery_owner(&self) -> RecoveryOwner {
        self.owner
    }

    fn on_established(&mut self, _: Time, _: &RttView, _: Option<&OptionList>) {
        Python::attach(|py| self.act(py, |_| Ok(())));
    }

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>) {
        if matches!(self.object, Object::Gone) {
            return;
        }
        Python::attach(|py| {
            self.act(py, |object| {
                let on_ack = pyo3::intern!(py, "on_ack");
                object.call_method1(on_ack, (now.as_secs_f64(), AckView::of(ack))).map(drop)
            });
        });
    }

    fn on_congestion(&mut self, now: Time, event: &Congestion) {
        let cause = match event.cause {
            CongestionCause::Loss => "loss",
            CongestionCause::LostRetransmission => "lost_retransmission",
            CongestionCause::Ecn => "ecn",
        };
        let flight_size_bytes = event.flight_size_bytes;
        self.on_event(now, "on_loss", LossView { cause, flight_size_bytes, first: true });
    }

    fn on_rto(&mut self, now: Time, timeout: &Timeout) {
        let Timeout { flight_size_bytes, first } = *timeout;
        self.on_event(now, "on_timeout", LossView { cause: "timeout", flight_size_bytes, first });
    }

    fn on_recovered(&mut self, now: Time, end: &Recovered) {
        let cap_bytes = end.cwnd_cap_bytes;
        Python::attach(|py| {
            self.act(py, |object| match object.getattr_opt(pyo3::intern!(py, "on_recovered"))? {
                Some(method) => method.call1((now.as_secs_f64(), cap_bytes)).map(drop),
                None => Ok(()),
            });
        });
    }
}
