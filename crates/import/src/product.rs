//! The product of the loans, from a server or from a file, with the parts needed to check rows.

use crate::error::ImportError;
use daybook_client::Client;
use daybook_engine::calendar::{Day, TimeOfDay};
use daybook_engine::time::Time;
use daybook_engine::zone::Zone;
use daybook_operations::Operation;
use daybook_service::form::fields::Moment;
use daybook_service::form::{self, NewProduct};
use daybook_service::policy;
use serde_json::Value;
use std::path::Path;

/// Fields of the response that are not part of the request.
const ANSWERED: [&str; 4] = ["created_at", "migration_mode", "migration_state", "warnings"];

/// A product.
#[derive(Debug)]
pub struct ImportProduct {
    /// Its id.
    pub id: String,
    /// The body of the request that creates it.
    pub body: Value,
    /// The same, parsed.
    pub form: NewProduct,
    /// The time zone of its calendar.
    pub zone: Zone,
}

impl ImportProduct {
    /// Fetches it from a server.
    pub fn of_server(client: &Client, id: &str) -> Result<ImportProduct, ImportError> {
        let mut body = client.call(&Operation::GetProduct.request([id]), None)?;
        if let Some(fields) = body.as_object_mut() {
            ANSWERED.iter().for_each(|field| drop(fields.remove(*field)));
            // A caller may not choose an id with the prefix of generated ids.
            fields.insert("product_id".to_owned(), Value::from(id.trim_start_matches("dbk_")));
        }
        let read = ImportProduct::read(body);
        let read = read.map_err(|why| ImportError::Failed(format!("the product {id} cannot be read: {why}")))?;
        Ok(ImportProduct { id: id.to_owned(), ..read })
    }

    /// Reads it from a file.
    pub fn of_file(path: &Path) -> Result<ImportProduct, ImportError> {
        let failed = |why: String| ImportError::Failed(format!("{}: {why}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
        let body: Value = serde_json::from_str(&text).map_err(|error| failed(format!("is not JSON: {error}")))?;
        ImportProduct::read(body).map_err(failed)
    }

    fn read(body: Value) -> Result<ImportProduct, String> {
        let form: NewProduct = form::parse(body.to_string().as_bytes()).map_err(|bad| bad.to_string())?;
        let id = form.product_id.as_ref().ok_or("product_id is required")?.as_str().to_owned();
        let zone = form.zone().ok_or("its time zone is unknown")?;
        let mut settled = form;
        settled.settle_close_of_business().map_err(|problem| problem.to_string())?;
        policy::product_policy(&settled, None)
            .map_err(|problems| problems.first().map(ToString::to_string).unwrap_or_default())?;
        Ok(ImportProduct { id, body, form: settled, zone })
    }

    /// The product under an id that a caller may choose, to be created in another database.
    pub fn made_anew(self) -> ImportProduct {
        let id = self.body["product_id"].as_str().unwrap_or(&self.id).to_owned();
        ImportProduct { id, ..self }
    }

    /// Parses a date, which means midnight at its start, or a time with an offset.
    pub fn moment(&self, text: &str) -> Option<Time> {
        let midnight = TimeOfDay::new(0, 0, 0)?;
        match Day::parse(text) {
            Some(day) => Some(self.zone.at(day, midnight)),
            None => Moment::read(text).ok().map(|moment| *moment.get()),
        }
    }

    /// The error message of [`ImportProduct::moment`].
    pub fn moment_rule(&self) -> String {
        format!(
            "must be a date such as 2025-02-15 (midnight in {}), or a time with an offset such as 2025-02-15T09:00:00-05:00",
            self.zone.name()
        )
    }
}
