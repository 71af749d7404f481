//! Columns: storage of a table's values, and their export.

use std::collections::BTreeMap;

use super::{Digest, Names};
use units::hash::fnv;

/// A column as exported from a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// 32-bit unsigned integers.
    U32(Vec<u32>),
    /// 64-bit unsigned integers.
    U64(Vec<u64>),
    /// Floating-point numbers.
    F64(Vec<f64>),
    /// 32-bit unsigned integers or nulls.
    NullableU32(Nullable<u32>),
    /// 64-bit unsigned integers or nulls.
    NullableU64(Nullable<u64>),
    /// Floating-point numbers or nulls.
    NullableF64(Nullable<f64>),
    /// Texts, each an index in `names`.
    Text {
        /// The indexes.
        codes: Vec<u32>,
        /// The texts.
        names: Names,
    },
}

/// Nullable values: values and a validity bit each, in Arrow's layout.
#[derive(Debug, Clone, PartialEq)]
pub struct Nullable<T> {
    values: Vec<T>,
    validity: Vec<u8>,
    nulls: usize,
}

/// Repeating texts: indexes in a fixed list of names.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Coded {
    codes: Vec<u32>,
    names: Names,
}

/// The object of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Object {
    /// The link with this index.
    Link(u32),
    /// The flow of a workload, both by index.
    Flow {
        /// The workload.
        workload: u32,
        /// The flow's number in it, from 0.
        flow: u32,
    },
}

/// The objects of samples. Flows get their names (`greedy/3`) when the column is exported.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Objects {
    values: Vec<Object>,
    workloads: Names,
    links: Names,
}

/// The operations of a table on its columns.
pub trait Store {
    /// The type of a value in a row.
    type Item;
    /// Adds a value.
    fn push(&mut self, item: Self::Item);
    /// The number of values.
    fn len(&self) -> usize;
    /// Reserves memory for exactly this number of further values.
    fn reserve(&mut self, values: usize);
    /// An empty column of the same kind, with the same names and capacity.
    fn emptied(&self) -> Self;
    /// Exports the values.
    fn into_column(self) -> Column;
    /// Adds the value at `row` to a digest.
    fn digest(&self, row: usize, digest: &mut Digest);
}

impl<T: Copy + Default> Nullable<T> {
    /// An empty column with capacity for `values` values.
    fn with_capacity(values: usize) -> Self {
        Self {
            values: Vec::with_capacity(values),
            validity: Vec::with_capacity(values.div_ceil(8)),
            nulls: 0,
        }
    }

    /// Adds a value or a null.
    pub fn push(&mut self, value: Option<T>) {
        let (byte, bit) = (self.values.len() / 8, self.values.len() % 8);
        if byte == self.validity.len() {
            self.validity.push(0);
        }
        match value {
            Some(_) => self.validity[byte] |= 1 << bit,
            None => self.nulls += 1,
        }
        self.values.push(value.unwrap_or_default());
    }

    /// The value at `row`; `None` if it is null or the row does not exist.
    pub fn get(&self, row: usize) -> Option<T> {
        let valid = self.validity.get(row / 8)? >> (row % 8) & 1 == 1;
        if valid { self.values.get(row).copied() } else { None }
    }

    /// All values in order.
    pub fn iter(&self) -> impl Iterator<Item = Option<T>> + '_ {
        (0..self.values.len()).map(|row| self.get(row))
    }

    /// The number of values, including nulls.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns true if the column is empty.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The number of nulls.
    pub fn nulls(&self) -> usize {
        self.nulls
    }

    /// The values, zero where null, and the validity bitmap: least significant bit first, set where
    /// a value is present.
    pub fn into_parts(self) -> (Vec<T>, Vec<u8>) {
        (self.values, self.validity)
    }
}

impl<T> Default for Nullable<T> {
    fn default() -> Self {
        Self { values: Vec::new(), validity: Vec::new(), nulls: 0 }
    }
}

impl Coded {
    /// An empty column with these names.
    pub fn new(names: &Names) -> Self {
        Self { codes: Vec::new(), names: Names::clone(names) }
    }

    /// The text at `row`.
    pub fn get(&self, row: usize) -> Option<&str> {
        self.names.get(usize::try_from(*self.codes.get(row)?).ok()?).map(String::as_str)
    }

    /// The codes.
    pub fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// The names that the codes index.
    pub fn names(&self) -> &Names {
        &self.names
    }
}

impl Objects {
    /// An empty column for these workloads' flows and these links.
    pub fn new(workloads: &Names, links: &Names) -> Self {
        Self { values: Vec::new(), workloads: Names::clone(workloads), links: Names::clone(links) }
    }

    /// The name of the object at `row`.
    pub fn get(&self, row: usize) -> Option<String> {
        self.values.get(row).map(|object| self.name(*object))
    }

    fn name(&self, object: Object) -> String {
        let name = |names: &Names, index: u32| {
            let known = usize::try_from(index).ok().and_then(|index| names.get(index).cloned());
            known.unwrap_or_else(|| index.to_string())
        };
        match object {
            Object::Link(link) => name(&self.links, link),
            Object::Flow { workload, flow } => {
                format!("{}/{flow}", name(&self.workloads, workload))
            }
        }
    }
}

/// Implements [`Store`] for a column of numbers.
macro_rules! plain {
    ($type:ty, $column:ident, $nullable:ident, $bits:expr) => {
        impl Store for Vec<$type> {
            type Item = $type;
            fn push(&mut self, item: $type) {
                Vec::push(self, item);
            }
            fn len(&self) -> usize {
                Vec::len(self)
            }
            fn reserve(&mut self, values: usize) {
                self.reserve_exact(values);
            }
            fn emptied(&self) -> Self {
                Self::with_capacity(self.len())
            }
            fn into_column(self) -> Column {
                Column::$column(self)
            }
            fn digest(&self, row: usize, digest: &mut Digest) {
                digest.0.feed(&$bits(self[row]));
            }
        }

        impl Store for Nullable<$type> {
            type Item = Option<$type>;
            fn push(&mut self, item: Option<$type>) {
                Nullable::push(self, item);
            }
            fn len(&self) -> usize {
                Nullable::len(self)
            }
            fn reserve(&mut self, values: usize) {
                self.validity
                    .reserve_exact((self.values.len() + values).div_ceil(8) - self.validity.len());
                self.values.reserve_exact(values);
            }
            fn emptied(&self) -> Self {
                Self::with_capacity(self.values.len())
            }
            fn into_column(self) -> Column {
                Column::$nullable(self)
            }
            fn digest(&self, row: usize, digest: &mut Digest) {
                match self.get(row) {
                    Some(value) => {
                        digest.0.feed(&[1]);
                        digest.0.feed(&$bits(value));
                    }
                    None => digest.0.feed(&[0]),
                }
            }
        }
    };
}

plain!(u32, U32, NullableU32, u32::to_le_bytes);
plain!(u64, U64, NullableU64, u64::to_le_bytes);
plain!(f64, F64, NullableF64, f64::to_le_bytes);

impl Store for Coded {
    type Item = u32;
    fn push(&mut self, code: u32) {
        self.codes.push(code);
    }
    fn len(&self) -> usize {
        self.codes.len()
    }
    fn reserve(&mut self, values: usize) {
        self.codes.reserve_exact(values);
    }
    fn emptied(&self) -> Self {
        Self { codes: Vec::with_capacity(self.codes.len()), names: Names::clone(&self.names) }
    }
    fn into_column(self) -> Column {
        Column::Text { codes: self.codes, names: self.names }
    }
    fn digest(&self, row: usize, digest: &mut Digest) {
        // The hash of the text has a fixed length, so consecutive texts cannot be confused.
        digest.0.feed(&fnv(self.get(row).unwrap_or_default()).to_le_bytes());
    }
}

impl Store for Objects {
    type Item = Object;
    fn push(&mut self, object: Object) {
        self.values.push(object);
    }
    fn len(&self) -> usize {
        self.values.len()
    }
    fn reserve(&mut self, values: usize) {
        self.values.reserve_exact(values);
    }
    fn emptied(&self) -> Self {
        Self::new(&self.workloads, &self.links)
    }
    fn into_column(self) -> Column {
        let mut names = Vec::new();
        let mut known = BTreeMap::new();
        let mut code = |object: &Object| {
            *known.entry(*object).or_insert_with(|| {
                names.push(self.name(*object));
                u32::try_from(names.len() - 1).unwrap_or(u32::MAX)
            })
        };
        let codes = self.values.iter().map(&mut code).collect();
        Column::Text { codes, names: names.into() }
    }
    fn digest(&self, row: usize, digest: &mut Digest) {
        digest.0.feed(&fnv(&self.name(self.values[row])).to_le_bytes());
    }
}
