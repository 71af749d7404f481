//! Positions of members in structures of the running kernel, from its type information (BTF).
//!
//! Programs may read members of `struct tcp_sock`, whose layout differs between kernels. The kernel
//! checks each access against the same type information.

use std::path::Path;

use tun::Error;

/// Type information of the running kernel.
const KERNEL: &str = "/sys/kernel/btf/vmlinux";

const MAGIC: u16 = 0xeb9f;

// Kinds of types (Documentation/bpf/btf.rst, "Type Encoding").
const INT: u32 = 1;
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const ENUM: u32 = 6;
const FUNCTION: u32 = 13;
const VARIABLE: u32 = 14;
const SECTION: u32 = 15;
const TAG: u32 = 17;
const ENUM64: u32 = 19;

/// Bytes of a type without what follows it, and of a member.
const TYPE: usize = 12;
const MEMBER: usize = 12;

/// A member of one bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flag {
    /// Position of its byte.
    pub(crate) position: i16,
    /// The bit in this byte.
    pub(crate) mask: i32,
}

/// Returns the positions in bytes of members of a structure of the running kernel.
///
/// # Errors
/// Returns an error if the kernel has no type information, or no such members.
pub(crate) fn positions<const N: usize>(
    structure: &str,
    members: [&str; N],
) -> Result<[i16; N], Error> {
    let bits = in_kernel(structure, members)?;
    let mut found = [0; N];
    for (position, bits) in found.iter_mut().zip(bits) {
        *position = i16::try_from(bits / 8)
            .map_err(|error| Error::new(operation(structure), std::io::Error::other(error)))?;
    }
    Ok(found)
}

/// Returns the position of the peer's address in `struct tcp_sock`, which begins with `struct
/// sock_common`. It has 16 bytes, also if it is an IPv4 address.
///
/// # Errors
/// Returns the errors of [`positions`]. A kernel without IPv6 has no such member.
pub(crate) fn peer() -> Result<i16, Error> {
    let found = positions("sock_common", ["skc_v6_daddr"]);
    let [position] = found.map_err(|error| error.with_hint("the kernel needs CONFIG_IPV6"))?;
    Ok(position)
}

/// Returns the position of a flag in `inner`, the type of `member` of a structure.
///
/// # Errors
/// Returns the errors of [`positions`].
pub(crate) fn flag(structure: &str, member: &str, inner: &str, flag: &str) -> Result<Flag, Error> {
    let [begin] = positions(structure, [member])?;
    let [bits] = in_kernel(inner, [flag])?;
    let position = i16::try_from(bits / 8).ok().and_then(|bytes| begin.checked_add(bytes));
    let position = position.ok_or_else(|| Error::new(operation(inner), missing()))?;
    // The kernels that tcpsf runs on count bits from the lowest one.
    Ok(Flag { position, mask: 1 << (bits % 8) })
}

fn operation(structure: &str) -> String {
    format!("read the layout of `struct {structure}`")
}

fn missing() -> std::io::Error {
    std::io::Error::other("no such members in the kernel's type information")
}

/// Positions in bits of members of a structure of the running kernel.
fn in_kernel<const N: usize>(structure: &str, members: [&str; N]) -> Result<[u32; N], Error> {
    let bytes = std::fs::read(Path::new(KERNEL)).map_err(|error| {
        Error::new(operation(structure), error).with_hint("the kernel needs CONFIG_DEBUG_INFO_BTF")
    })?;
    find(&bytes, structure, members).ok_or_else(|| Error::new(operation(structure), missing()))
}

/// Finds members in type information. Their positions are in bits.
fn find<const N: usize>(bytes: &[u8], structure: &str, members: [&str; N]) -> Option<[u32; N]> {
    if bytes.get(..2)? != MAGIC.to_ne_bytes() {
        return None;
    }
    let field = |at| word(bytes, at).map(|value| value as usize);
    let (header, types, length, texts) = (field(4)?, field(8)?, field(12)?, field(16)?);
    let begin = header.checked_add(types)?;
    let texts = bytes.get(header.checked_add(texts)?..)?;
    let mut rest = bytes.get(begin..begin.checked_add(length)?)?;
    while !rest.is_empty() {
        let (name, info) = (word(rest, 0)?, word(rest, 4)?);
        let (kind, count) = (info >> 24 & 0x1f, (info & 0xffff) as usize);
        let extra = match kind {
            INT | VARIABLE | TAG => 4,
            ARRAY => 12,
            STRUCT | UNION | SECTION | ENUM64 => MEMBER * count,
            ENUM | FUNCTION => 8 * count,
            _ => 0,
        };
        let body = rest.get(TYPE..TYPE + extra)?;
        if kind == STRUCT && text(texts, name) == Some(structure.as_bytes()) {
            return positions_in(body, texts, members);
        }
        rest = &rest[TYPE + extra..];
    }
    None
}

fn positions_in<const N: usize>(body: &[u8], texts: &[u8], members: [&str; N]) -> Option<[u32; N]> {
    let mut found = [0; N];
    for (position, wanted) in found.iter_mut().zip(members) {
        let mut each = body.chunks_exact(MEMBER);
        let is_it = |member: &&[u8]| {
            word(member, 0).and_then(|name| text(texts, name)) == Some(wanted.as_bytes())
        };
        // The upper byte is the width of a bit field.
        *position = word(each.find(is_it)?, 8)? & 0x00ff_ffff;
    }
    Some(found)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The text at a position, up to its zero byte.
fn text(texts: &[u8], at: u32) -> Option<&[u8]> {
    texts.get(at as usize..)?.split(|byte| *byte == 0).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: &[u8] = b"\0u32\0tcp_sock\0snd_nxt\0write_seq\0";

    /// Type information with an integer, a function type and a structure.
    fn example() -> Vec<u8> {
        let types: [[u32; 3]; 6] = [
            [1, INT << 24, 4],
            [32, FUNCTION << 24, 0],
            [5, STRUCT << 24 | 2, 2000],
            [14, 1, 8 * 12],
            [22, 1, 8 * 1500],
            [0, 0, 0],
        ];
        let mut words: Vec<u32> = types[0].to_vec();
        words.push(32);
        words.extend(types[1..5].iter().flatten());
        let length = 4 * words.len();
        let mut bytes = MAGIC.to_ne_bytes().to_vec();
        bytes.extend([1, 0]);
        let lengths =
            [24, 0, length, length, TEXTS.len()].map(|n| u32::try_from(n).expect("short"));
        bytes.extend(lengths.iter().chain(&words).flat_map(|word| word.to_ne_bytes()));
        bytes.extend(TEXTS);
        bytes
    }

    #[test]
    fn members_have_positions_in_bits() {
        let found = find(&example(), "tcp_sock", ["write_seq", "snd_nxt"]);
        assert_eq!(found, Some([8 * 1500, 8 * 12]));
        assert_eq!(find(&example(), "tcp_sock", ["other"]), None);
        assert_eq!(find(&example(), "sock", ["snd_nxt"]), None);
    }

    #[test]
    fn damaged_information_has_no_members() {
        let whole = example();
        for length in 0..whole.len() - TEXTS.len() {
            assert_eq!(find(&whole[..length], "tcp_sock", ["snd_nxt"]), None, "{length}");
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0xff;
            let _ = find(&damaged, "tcp_sock", ["snd_nxt"]);
        }
    }
}
