//! Structure of a script: settings, a command, events, a command.

use super::{Action, Command, Definitions, Direction, Event, ReadError, Script, Setting};
use super::{call, packet, time};
use crate::cursor::{Cursor, Problem, Read};
use crate::expression::Code;
use crate::script::When;

pub(super) fn script(
    name: &str,
    text: &str,
    definitions: &Definitions,
) -> Result<Script, ReadError> {
    let mut cursor = Cursor::new(text, definitions);
    Reader { text, name }.script(&mut cursor).map_err(|problem| located(name, text, problem))
}

struct Reader<'a> {
    text: &'a str,
    name: &'a str,
}

impl Reader<'_> {
    fn script(&self, cursor: &mut Cursor) -> Read<Script> {
        let mut script = Script {
            name: self.name.to_owned(),
            settings: Vec::new(),
            init: None,
            events: Vec::new(),
            cleanup: None,
        };
        while cursor.sees("--")? {
            script.settings.push(self.setting(cursor)?);
        }
        if cursor.sees("`")? {
            script.init = Some(self.command(cursor)?);
        }
        loop {
            cursor.skip_blank()?;
            if cursor.is_at_end() {
                break;
            }
            if cursor.sees("`")? {
                script.cleanup = Some(self.command(cursor)?);
                cursor.skip_blank()?;
                if !cursor.is_at_end() {
                    return cursor.expected("the end of the script after its last command");
                }
                break;
            }
            script.events.push(self.event(cursor)?);
        }
        if script.events.is_empty() {
            return cursor.expected("an event such as `0 socket(…) = 3`");
        }
        Ok(script)
    }

    fn setting(&self, cursor: &mut Cursor) -> Read<Setting> {
        let line = self.line(cursor.at());
        cursor.expect("--")?;
        let name = cursor.take_while(|c| c.is_ascii_alphanumeric() || c == '_').to_owned();
        if name.is_empty() {
            return cursor.expected("the name of a setting");
        }
        // No blanks are allowed around `=`.
        let value = if cursor.rest().starts_with('=') {
            cursor.eat("=")?;
            cursor.take_while(|c| !c.is_whitespace()).to_owned()
        } else {
            String::new()
        };
        Ok(Setting { line, name, value })
    }

    fn command(&self, cursor: &mut Cursor) -> Read<Command> {
        let line = self.line(cursor.at());
        cursor.expect("`")?;
        match cursor.take_until("`") {
            Some(text) => Ok(Command { line, text: text.to_owned() }),
            None => cursor.expected("a second backtick"),
        }
    }

    fn event(&self, cursor: &mut Cursor) -> Read<Event> {
        let start = cursor.at();
        let line = self.line(start);
        let before = cursor.clone();
        let time = time::time(cursor)?;
        cursor.skip_blank()?;
        let body = cursor.at();
        let action = if cursor.eat("<")? {
            Action::Packet(packet::packet(cursor, Direction::Inbound)?)
        } else if cursor.eat(">")? {
            Action::Packet(packet::packet(cursor, Direction::Outbound)?)
        } else if cursor.sees("`")? {
            Action::Command(self.command(cursor)?)
        } else if cursor.eat("%{")? {
            self.code(cursor)?
        } else {
            Action::Call(call::call(cursor)?)
        };
        let outbound = self.text.get(body..).is_some_and(|rest| rest.starts_with('>'));
        let is_call = matches!(action, Action::Call(_));
        match time.when {
            When::Range(..) | When::Any if !outbound => {
                return before.problem(format!("the time `{time}` is only for packets that leave"));
            }
            When::Blocking(..) if !is_call => {
                return before.problem(format!("the time `{time}` is only for system calls"));
            }
            _ => {}
        }
        let text = one_line(self.text.get(body..cursor.at()).unwrap_or_default());
        Ok(Event { line, time, action, text })
    }

    fn code(&self, cursor: &mut Cursor) -> Read<Action> {
        let start = cursor.at();
        let Some(text) = cursor.take_until("}%") else {
            return cursor.expected("`}%` after `%{`");
        };
        Code::parse(text, self.line(start))
            .map(Action::Code)
            .map_err(|problem| Problem { at: start + problem.at, text: problem.text })
    }

    /// Line of a byte offset, from 1.
    fn line(&self, at: usize) -> u32 {
        position(self.text, at).0
    }
}

/// Line and column of a byte offset, both from 1.
fn position(text: &str, at: usize) -> (u32, u32) {
    let before = text.get(..at).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let lines = before.bytes().filter(|&byte| byte == b'\n').count();
    let column = before.get(start..).unwrap_or_default().chars().count();
    (number(lines) + 1, number(column) + 1)
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX - 1)
}

fn located(name: &str, text: &str, problem: Problem) -> ReadError {
    let (line, column) = position(text, problem.at);
    ReadError { name: name.to_owned(), line, column, problem: problem.text }
}

/// The text of an event in one line, without comments.
fn one_line(text: &str) -> String {
    let nothing = Definitions::new();
    let mut cursor = Cursor::new(text, &nothing);
    let mut words: Vec<&str> = Vec::new();
    while cursor.skip_blank().is_ok() && !cursor.is_at_end() {
        let word = cursor.take_while(|c| !c.is_whitespace());
        words.push(word.split("//").next().unwrap_or_default());
        if word.contains("//") {
            cursor.take_while(|c| c != '\n');
        }
    }
    words.join(" ")
}
