use super::*;

/// Runs a block with `tcpi_a` = 10, and returns what `print` wrote.
fn run(text: &str) -> Result<String, String> {
    let code = Code::parse(text, 1).map_err(|problem| problem.text)?;
    let (mut variables, mut printed) = (Variables::new(), Vec::new());
    let known = |name: &str| (name == "tcpi_a").then_some(10);
    let mut scope = Scope { known: &known, variables: &mut variables, printed: &mut printed };
    code.run(&mut scope).map_err(|failure| {
        format!("{}: {}: {}", failure.line, failure.statement, failure.problem)
    })?;
    Ok(printed.join("\n"))
}

#[test]
fn values_are_those_of_python() {
    for (text, wanted) in [
        ("1 + 2 * 3 - 4", "3"),
        ("-7 // 2", "-4"),
        ("7 // -2", "-4"),
        ("-7 % 3", "2"),
        ("7 % -3", "-2"),
        ("7 / 2", "3.5"),
        ("0x10 | 1 << 1 & 7 ^ 1", "19"),
        ("~5 & 0xff", "250"),
        ("1 < 2 <= 2 != 3", "True"),
        ("1 < 3 < 2", "False"),
        ("not 0 and 5 or 7", "5"),
        ("0 or 7", "7"),
        ("1.5 * 2 == 3", "True"),
        ("'a' + 'b' == \"ab\"", "True"),
        ("'%d of %s, %x%%, %.2f' % (1, 'b', 255, 0.5)", "1 of b, ff%, 0.50"),
        ("f'{tcpi_a + 1} us {tcpi_a}'", "11 us 10"),
        ("int(7 / 2), abs(-3), min(2, 1), max(2, 1), str(4) + hex(255)", "3 3 1 2 40xff"),
        ("(1,\n2)", "(1, 2)"),
    ] {
        assert_eq!(run(&format!("print({text})")).as_deref(), Ok(wanted), "{text}");
    }
}

#[test]
fn statements() {
    let text =
        "x = tcpi_a # ten\nx += 5; x -= 1\nassert x == 14, x\nassert 1 \\\n == 1\nprint(x, 2)";
    assert_eq!(run(text).as_deref(), Ok("14 2"));
    assert_eq!(
        run("\n assert tcpi_a == 3 and 1, tcpi_a"),
        Err("2: assert tcpi_a == 3 and 1, tcpi_a: the assertion does not hold, with tcpi_a = 10"
            .to_owned())
    );
    assert_eq!(
        run("assert tcpi_a > 3 * 4, 'a is %d' % tcpi_a").unwrap_err(),
        "1: assert tcpi_a > 3 * 4, 'a is %d' % tcpi_a: the assertion does not hold: a is 10, with \
         tcpi_a = 10"
    );
}

#[test]
fn errors_of_evaluation() {
    for (text, wanted) in [
        ("1 / 0", "cannot calculate with 1 and 0"),
        ("1 << 64", "cannot calculate with 1 and 64"),
        ("9223372036854775807 + 1", "cannot calculate with 9223372036854775807 and 1"),
        ("nothing", "the name `nothing` has no value"),
        ("'a' < 1", "cannot compare a with 1"),
        ("'%q' % 1", "the format `%q` is not supported"),
        ("-'a'", "cannot apply an operator to a"),
    ] {
        assert_eq!(run(text), Err(format!("1: {text}: {wanted}")), "{text}");
    }
}

#[test]
fn unsupported_statements_are_refused() {
    for text in ["import os", "x = [1]", "for i in x: y", "open('f')", "f'{'", "1 2", "'a", "9x"] {
        assert!(Code::parse(text, 1).is_err(), "{text}");
    }
}

#[test]
fn names_of_a_block() {
    let code = Code::parse("x = tcpi_a\nassert x < abs(tcpi_b), f'{tcpi_c}'", 5).unwrap();
    assert_eq!(code.names(), [(5, "tcpi_a"), (6, "x"), (6, "tcpi_b"), (6, "tcpi_c")]);
    assert_eq!(code.assigned().collect::<Vec<_>>(), ["x"]);
}
