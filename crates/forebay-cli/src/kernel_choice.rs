//! `--kernel HOST=NAME`: a host whose TCP is the kernel's.

/// A host and the congestion control of its flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelChoice {
    /// The name of the host.
    pub host: String,
    /// The kernel's name of its congestion control.
    pub congestion: String,
}

/// One argument of `--kernel`.
pub fn choice(text: &str) -> Result<KernelChoice, String> {
    let is_name = |name: &str| {
        // As long as the kernel's names may be (TCP_CA_NAME_MAX).
        (1..16).contains(&name.len())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
    };
    match text.rsplit_once('=') {
        Some((host, congestion)) if !host.is_empty() && is_name(congestion) => {
            Ok(KernelChoice { host: host.to_string(), congestion: congestion.to_string() })
        }
        _ => Err("expected HOST=NAME, such as a=cubic".to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_a_host_and_a_name() {
        let of = |host: &str, congestion: &str| {
            Ok(KernelChoice { host: host.into(), congestion: congestion.into() })
        };
        assert_eq!(choice("a=cubic"), of("a", "cubic"));
        assert_eq!(choice("a=b=reno"), of("a=b", "reno"));
        for wrong in ["cubic", "=cubic", "a=", "a=cu/bic", "a=a-name-of-16-byt"] {
            assert!(choice(wrong).is_err(), "{wrong}");
        }
    }
}
