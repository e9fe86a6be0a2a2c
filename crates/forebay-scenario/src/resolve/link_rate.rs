//! How fast a link transmits: one of rate, trace, generator and bucket, from the keys of the file.

use crate::Channel;
use crate::format::fault::{Fault, Problem};
use crate::format::fields::Spanned;
use crate::format::traces::OPPORTUNITY_OVERHEAD_BYTES;
use crate::keys::file::LinkParams;
use crate::resolve::channels::{TraceFiles, bucket_of};
use forebay_base::Rate;

/// How fast a link transmits: its rate, and by what.
pub(crate) fn pace_of(
    params: &LinkParams,
    traces: &TraceFiles,
    missing: &impl Fn(&'static str, &str) -> Fault,
) -> Result<(Rate, Channel), Fault> {
    if let Some(generator) = &params.generator {
        let other =
            [params.trace.as_ref().map(Spanned::place), params.bucket.as_ref().map(Spanned::place)];
        if let Some(other) = other.into_iter().flatten().next() {
            let text = "a link has one of `generator`, `trace` and `bucket`";
            return Err(other.fault(Problem::Conflict(text.into())));
        }
        if let Some(rate) = &params.rate {
            traces.note_unused(rate, &generator.key);
        }
        let generated = generator.value.resolve()?;
        return Ok((generated.rate(), Channel::Generated(generated)));
    }
    match (&params.rate, &params.trace) {
        (_, Some(_)) if params.bucket.is_some() => {
            let text = "a link has a token bucket or a trace, not both";
            let bucket = params.bucket.as_ref().map(Spanned::place).unwrap_or_default();
            Err(bucket.fault(Problem::Conflict(text.into())))
        }
        (rate, Some(trace)) => {
            if let Some(rate) = rate {
                traces.note_unused(rate, &trace.key);
            }
            let file = traces.open(trace)?;
            Ok((file.trace.mean_rate(), Channel::Trace(file)))
        }
        (Some(rate), None) => {
            let bytes = |at: &Option<Spanned<u16>>| at.as_ref().map(|at| u64::from(at.value));
            let mtu_bytes = bytes(&params.mtu_bytes).unwrap_or(1500);
            let longest = mtu_bytes + bytes(&params.overhead_bytes).unwrap_or(0);
            let bucket = params.bucket.as_ref();
            let channel =
                bucket.map(|bucket| bucket_of(bucket, rate.value, longest)).transpose()?;
            Ok((rate.value, channel.unwrap_or(Channel::Constant)))
        }
        (None, None) => Err(missing("rate", "rate of the link")),
    }
}

/// Bytes that each packet costs in addition to its own; by default those of mahimahi on
/// a delivery trace.
pub(crate) fn overhead_bytes(params: &LinkParams, channel: &Channel) -> u16 {
    match (&params.overhead_bytes, channel.is_trace()) {
        (Some(at), _) => at.value,
        (None, true) => OPPORTUNITY_OVERHEAD_BYTES,
        (None, false) => 0,
    }
}
