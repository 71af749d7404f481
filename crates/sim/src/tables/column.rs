//! Columns: how a table keeps its values, and what it hands over.

use std::collections::BTreeMap;

use super::{Digest, Names};
use units::hash::fnv;

/// A column as it leaves a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Whole numbers of 32 bits.
    U32(Vec<u32>),
    /// Whole numbers of 64 bits.
    U64(Vec<u64>),
    /// Numbers.
    F64(Vec<f64>),
    /// Whole numbers of 32 bits, or nothing.
    NullableU32(Nullable<u32>),
    /// Whole numbers of 64 bits, or nothing.
    NullableU64(Nullable<u64>),
    /// Numbers, or nothing.
    NullableF64(Nullable<f64>),
    /// Texts, each an index in `names`.
    Text {
        /// The indexes.
        codes: Vec<u32>,
        /// The texts.
        names: Names,
    },
}

/// Values of which some are missing: values and a bit each, in Arrow's layout.
#[derive(Debug, Clone, PartialEq)]
pub struct Nullable<T> {
    values: Vec<T>,
    validity: Vec<u8>,
    nulls: usize,
}

/// Repeating texts: indexes in a list of names that is fixed beforehand.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Coded {
    codes: Vec<u32>,
    names: Names,
}

/// What a sample is about.
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

/// What samples are about. Flows get their names (`greedy/3`) when the column is handed over.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Objects {
    values: Vec<Object>,
    workloads: Names,
    links: Names,
}

/// What a table asks of its columns.
pub trait Store {
    /// A value as a row holds it.
    type Item;
    /// Adds a value.
    fn push(&mut self, item: Self::Item);
    /// The number of values.
    fn len(&self) -> usize;
    /// Takes memory for so many more values, and no more.
    fn reserve(&mut self, values: usize);
    /// An empty column of the same kind, with the same names and room for as many values.
    fn emptied(&self) -> Self;
    /// Hands the values over.
    fn into_column(self) -> Column;
    /// Adds the value at `row` to a digest.
    fn digest(&self, row: usize, digest: &mut Digest);
}

impl<T: Copy + Default> Nullable<T> {
    /// An empty column with room for so many values.
    fn with_capacity(values: usize) -> Self {
        Self {
            values: Vec::with_capacity(values),
            validity: Vec::with_capacity(values.div_ceil(8)),
            nulls: 0,
        }
    }

    /// Adds a value or its absence.
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

    /// The value at `row`; `None` if it is missing or there is no such row.
    pub fn get(&self, row: usize) -> Option<T> {
        let valid = self.validity.get(row / 8)? >> (row % 8) & 1 == 1;
        if valid { self.values.get(row).copied() } else { None }
    }

    /// All values in order.
    pub fn iter(&self) -> impl Iterator<Item = Option<T>> + '_ {
        (0..self.values.len()).map(|row| self.get(row))
    }

    /// The number of values, missing ones included.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The number of missing values.
    pub fn nulls(&self) -> usize {
        self.nulls
    }

    /// The values, zero where missing, and a bit for each, least significant first, set where one
    /// is present.
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
    /// An empty column over these names.
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

    /// What they stand for.
    pub fn names(&self) -> &Names {
        &self.names
    }
}

impl Objects {
    /// An empty column about these workloads' flows and these links.
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

/// A column of plain numbers.
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
        // The hash of the text delimits it, which the text itself would not.
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
