//! Export of columns to Python through the Arrow C stream interface.

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, UInt32Type, UInt64Type};
use arrow_array::{
    ArrayRef, DictionaryArray, PrimitiveArray, RecordBatch, RecordBatchIterator, StringArray,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, Field, Schema};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use sim::tables::{Column, Nullable};

/// Columns that any reader of the Arrow C stream interface imports without a copy.
#[pyclass(frozen, module = "tcpsf._core")]
pub(crate) struct Table(RecordBatch);

impl Table {
    /// A table of these columns.
    pub(crate) fn new(columns: Vec<(&'static str, Column)>) -> PyResult<Self> {
        let mut fields = Vec::with_capacity(columns.len());
        let mut arrays = Vec::with_capacity(columns.len());
        for (name, column) in columns {
            let nullable = matches!(
                column,
                Column::NullableU32(_) | Column::NullableU64(_) | Column::NullableF64(_)
            );
            let array = array(column).map_err(|e| failure(&e))?;
            fields.push(Field::new(name, array.data_type().clone(), nullable));
            arrays.push(array);
        }
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
            .map(Self)
            .map_err(|e| failure(&e))
    }
}

#[pymethods]
impl Table {
    /// The number of rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.0.num_rows()
    }

    /// The table as a stream of one batch. The interface allows a requested schema to be ignored.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        const NAME: &CStr = c"arrow_array_stream";
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), NAME)
    }
}

fn array(column: Column) -> Result<ArrayRef, ArrowError> {
    Ok(match column {
        Column::U32(values) => whole::<UInt32Type>(values),
        Column::U64(values) => whole::<UInt64Type>(values),
        Column::F64(values) => whole::<Float64Type>(values),
        Column::NullableU32(values) => nullable::<UInt32Type>(values)?,
        Column::NullableU64(values) => nullable::<UInt64Type>(values)?,
        Column::NullableF64(values) => nullable::<Float64Type>(values)?,
        Column::Text { codes, names } => {
            let names = StringArray::from_iter_values(names.iter());
            let codes = PrimitiveArray::<UInt32Type>::new(ScalarBuffer::from(codes), None);
            Arc::new(DictionaryArray::try_new(codes, Arc::new(names))?)
        }
    })
}

fn whole<T: ArrowPrimitiveType>(values: Vec<T::Native>) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(values), None))
}

fn nullable<T: ArrowPrimitiveType>(column: Nullable<T::Native>) -> Result<ArrayRef, ArrowError>
where
    T::Native: Default,
{
    let (values, validity) = column.into_parts();
    let nulls = NullBuffer::new(BooleanBuffer::new(Buffer::from_vec(validity), 0, values.len()));
    Ok(Arc::new(PrimitiveArray::<T>::try_new(ScalarBuffer::from(values), Some(nulls))?))
}

/// Converts an error such as columns of unequal length, which is a bug and not the user's error.
fn failure(error: &ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}
