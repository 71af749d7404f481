//! Shell commands of scripts. None is executed: known ones change [`Settings`] or have no effect
//! here, and any other makes the script not applicable.

use wire::Mss;

use crate::profile::Settings;

/// Applies a command in backticks.
///
/// # Errors
/// Returns the line of the command, from 0, and the reason for which the script is not applicable.
pub(crate) fn apply(command: &str, settings: &mut Settings) -> Result<(), (u32, String)> {
    for (line, words) in commands(command) {
        one(&words, settings).map_err(|reason| (line, reason))?;
    }
    Ok(())
}

/// Divides a text into commands with their lines. A backslash at the end of a line continues it.
fn commands(text: &str) -> Vec<(u32, Vec<String>)> {
    let mut found = Vec::new();
    let mut words = Vec::new();
    let mut start = 0;
    for (line, text) in (0..).zip(text.lines()) {
        let text = text.split_once('#').map_or(text, |(before, _)| before).trim_end();
        let (text, continues) =
            text.strip_suffix('\\').map_or((text, false), |before| (before, true));
        if words.is_empty() {
            start = line;
        }
        for part in text.split_inclusive(';') {
            words.extend(split(part.trim_end_matches(';')));
            if part.ends_with(';') && !words.is_empty() {
                found.push((start, std::mem::take(&mut words)));
            }
        }
        if !continues && !words.is_empty() {
            found.push((start, std::mem::take(&mut words)));
        }
    }
    if !words.is_empty() {
        found.push((start, words));
    }
    found
}

/// Divides a command into words. Quotes group words. What follows a redirection is removed.
fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    for letter in text.chars() {
        match quote {
            Some(end) if letter == end => quote = None,
            None if letter == '"' || letter == '\'' => quote = Some(letter),
            None if letter.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            _ => word.push(letter),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    let discards = |word: &str| word.contains('>') && !word.starts_with('/');
    let end = words.iter().position(|word| discards(word)).unwrap_or(words.len());
    // `echo` writes a setting to a file.
    if words.first().is_none_or(|program| program != "echo") {
        words.truncate(end);
    }
    words
}

fn one(words: &[String], settings: &mut Settings) -> Result<(), String> {
    let shown = words.join(" ");
    let Some((program, arguments)) = words.split_first() else { return Ok(()) };
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match program.rsplit('/').next().unwrap_or_default() {
        // Its values are those of the profile.
        "defaults.sh" => Ok(()),
        name if name.starts_with("sysctl_restore") => Ok(()),
        "sysctl" | "set_sysctls.py" => {
            arguments.iter().filter(|word| !word.starts_with('-')).try_for_each(|assignment| {
                let (key, value) = assignment
                    .split_once('=')
                    .ok_or_else(|| format!("`{shown}` reads a setting"))?;
                sysctl(key, value.trim(), settings)
            })
        }
        "echo" if arguments.len() == 3 && arguments[1] == ">" => {
            sysctl(arguments[2], arguments[0], settings)
        }
        "ip" => ip(&arguments, settings).ok_or(format!("`{shown}` is not supported")),
        // Segments are never joined on their way.
        "ethtool" if arguments.first() == Some(&"-K") => Ok(()),
        // It resets counters which nothing reads.
        "nstat" if arguments.iter().all(|&argument| argument == "-n") => Ok(()),
        // Files have zeros of any length.
        "rm" | "true" | ":" => Ok(()),
        "dd" if arguments.contains(&"if=/dev/zero") => Ok(()),
        "tc" => Err(format!("`{shown}`: there is no queueing discipline below the TCP")),
        "nstat" => Err(format!("`{shown}`: there are no kernel counters")),
        _ => Err(format!("the command `{shown}` is not supported")),
    }
}

/// Applies `ip route change … advmss N mtu lock N initcwnd N` or `ip tcp_metrics flush`.
fn ip(arguments: &[&str], settings: &mut Settings) -> Option<()> {
    let arguments = arguments.strip_prefix(&["-6"]).unwrap_or(arguments);
    if arguments.first() == Some(&"tcp_metrics") {
        return Some(());
    }
    if arguments.first() != Some(&"route")
        || !matches!(arguments.get(1), Some(&("change" | "replace")))
    {
        return None;
    }
    let mut words = arguments.iter().skip(3);
    while let Some(&word) = words.next() {
        match word {
            "via" | "dev" | "src" => drop(words.next()?),
            "advmss" => settings.mss = Mss::new(words.next()?.parse().ok()?)?,
            "initcwnd" => settings.initial_window = Some(words.next()?.parse().ok()?),
            // The segment size follows from `advmss`.
            "mtu" => {
                let next = *words.next()?;
                if next == "lock" {
                    words.next()?;
                }
            }
            _ => return None,
        }
    }
    Some(())
}

/// Settings that change nothing for a TCP without offload, Fast Open, SYN cookies and caches.
const WITHOUT_EFFECT: [&str; 11] = [
    "tcp_min_tso_segs",
    "tcp_tso_rtt_log",
    "tcp_pacing_ss_ratio",
    "tcp_pacing_ca_ratio",
    "tcp_fack",
    "tcp_syncookies",
    "tcp_ecn_option",
    "tcp_fastopen_key",
    "tcp_fastopen_cookies",
    "tcp_fastopen_blackhole_timeout_sec",
    "tcp_no_metrics_save",
];

/// Reads a number, or a product in the shell's arithmetic such as `$((15*1024*1024))`.
fn number_of(word: &str) -> Option<u64> {
    match word.strip_prefix("$((").and_then(|rest| rest.strip_suffix("))")) {
        Some(product) => {
            let mut factors = product.split('*').map(crate::cursor::integer_of);
            factors.try_fold(1_u64, |product, factor| product.checked_mul(factor?))
        }
        None => crate::cursor::integer_of(word),
    }
}

/// Applies a kernel setting, whose name is separated by dots or slashes.
fn sysctl(key: &str, value: &str, settings: &mut Settings) -> Result<(), String> {
    let name = key.rsplit(['.', '/']).next().unwrap_or_default();
    if WITHOUT_EFFECT.contains(&name) {
        return Ok(());
    }
    let wrong = || format!("the setting `{name}={value}` is not supported");
    let numbers: Option<Vec<u64>> = value.split_whitespace().map(number_of).collect();
    let numbers = numbers.ok_or_else(wrong);
    let number = || numbers.as_ref().ok().and_then(|all| all.first()).copied().ok_or_else(wrong);
    let small = || number().and_then(|value| u8::try_from(value).map_err(|_| wrong()));
    let third = |at: usize| {
        let value = numbers.as_ref().ok().and_then(|all| all.get(at)).copied();
        value.and_then(|value| u32::try_from(value).ok()).ok_or_else(wrong)
    };
    match name {
        "tcp_rmem" => {
            settings.initial_receive_buffer = third(1)?;
            settings.receive_buffer = third(2)?;
        }
        "tcp_wmem" => settings.send_buffer = third(1)?,
        "tcp_timestamps" => settings.timestamps = number()? != 0,
        "tcp_sack" => settings.sack = number()? != 0,
        "tcp_dsack" => settings.dsack = number()? != 0,
        "tcp_window_scaling" => settings.window_scaling = number()? != 0,
        "tcp_ecn" if number()? <= 2 => settings.ecn = small()?,
        "tcp_ecn" => return Err(format!("`{name}={value}`: accurate ECN is not implemented")),
        "tcp_syn_retries" => settings.syn_retries = small()?,
        "tcp_syn_linear_timeouts" => settings.syn_linear_timeouts = small()?,
        "tcp_synack_retries" => settings.synack_retries = small()?,
        "tcp_retries2" => settings.retries = small()?,
        "tcp_tso_win_divisor" => {
            settings.window_divisor = u8::try_from(number()?).unwrap_or(u8::MAX);
        }
        "tcp_slow_start_after_idle" => settings.slow_start_after_idle = number()? != 0,
        "tcp_early_retrans" => settings.early_retrans = small()?,
        "tcp_recovery" => settings.recovery = small()?,
        "tcp_frto" => settings.frto = small()?,
        "tcp_reordering" => settings.reordering = third(0)?,
        "hystart_detect" => settings.hystart_detect = small()?,
        "tcp_notsent_lowat" => settings.notsent_lowat = third(0)?,
        "tcp_congestion_control" if value == "cubic" => {}
        // The lowest segment size of the probes, which `tcp_mtu_probing` switches on.
        "tcp_base_mss" => {}
        "tcp_mtu_probing" if number()? == 0 => {}
        "tcp_mtu_probing" => return Err(format!("`{name}={value}`: the path MTU is not probed")),
        // Both ends are allowed to, but each application has to ask for it.
        "tcp_fastopen" if number()? <= 3 => settings.fast_open = false,
        "tcp_fastopen" => return Err(format!("`{name}={value}`: Fast Open is not implemented")),
        _ => return Err(wrong()),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;

    fn after(text: &str) -> Result<Settings, (u32, String)> {
        let mut settings = Settings::of(Profile::Linux618);
        apply(text, &mut settings).map(|()| settings)
    }

    #[test]
    fn known_commands_change_settings() {
        let settings = after(
            "../common/defaults.sh\n ../set_sysctls.py /proc/sys/net/ipv4/tcp_wmem=\"4096 50000 \
             9\" \\\n  net.ipv4.tcp_ecn=2 # accept\nsysctl -q net.ipv4.tcp_sack=0; sysctl -e -q \
             net/ipv4/tcp_timestamps=0x0\necho 1 > /sys/module/tcp_cubic/parameters/hystart_detect",
        )
        .expect("all are known");
        assert_eq!((settings.send_buffer, settings.ecn), (50_000, 2));
        assert!(!settings.sack && !settings.timestamps);
        assert_eq!(settings.hystart_detect, 1);
    }

    #[test]
    fn products_and_files() {
        let settings = after(
            "sysctl -q net.ipv4.tcp_rmem=\"4096 131072 $((32*1024*1024))\"\nnstat -n\n/bin/rm -f a\n\
             dd bs=1 count=5 if=/dev/zero of=a status=none",
        )
        .expect("all are known");
        assert_eq!((settings.initial_receive_buffer, settings.receive_buffer), (131_072, 32 << 20));
        assert!(after("sysctl -q net.ipv4.tcp_rmem=\"1 2 $((1+1))\"").is_err());
    }

    #[test]
    fn routes_set_the_segment_size() {
        let settings =
            after("ip -6 route change a via b dev tun0 advmss 600 mtu lock 640 initcwnd 11");
        let settings = settings.expect("it is known");
        assert_eq!((settings.mss.get(), settings.initial_window), (600, Some(11)));
        assert!(after("ip tcp_metrics flush all > /dev/null 2>&1").is_ok());
    }

    #[test]
    fn unknown_commands_have_a_reason_and_a_line() {
        for (text, line, reason) in [
            ("true\nreboot now", 1, "the command `reboot now` is not supported"),
            ("sysctl -q net.ipv4.tcp_x=1", 0, "the setting `tcp_x=1` is not supported"),
            ("sysctl -q a \\\n\nreboot", 0, "`sysctl -q a` reads a setting"),
            (
                "tc qdisc add dev tun0 root fq",
                0,
                "`tc qdisc add dev tun0 root fq`: there is no queueing discipline below the TCP",
            ),
            ("set_sysctls.py tcp_fastopen=5", 0, "`tcp_fastopen=5`: Fast Open is not implemented"),
            ("nstat | grep x", 0, "`nstat | grep x`: there are no kernel counters"),
        ] {
            assert_eq!(after(text), Err((line, reason.to_owned())), "{text}");
        }
    }
}
