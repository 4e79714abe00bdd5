//! Organizations.

use super::audit;
use super::cells::{ORGANIZATION, each};
use super::flight::{Frame, Param, Query, Transaction};
use super::retry::{Try, retried};
use super::server::PostgresServer;
use crate::error::StoreError;
use crate::records::{OrgId, Organization};
use crate::rows;
use crate::{Audited, Result};

pub(super) async fn create_organization(
    server: &PostgresServer,
    organization: &Organization,
    audit: Audited<'_>,
) -> Result<OrgId> {
    retried!(server, transaction => create_organization_once(&mut transaction, organization, audit))
}

async fn create_organization_once(
    transaction: &mut Transaction,
    organization: &Organization,
    audit: Audited<'_>,
) -> Try<OrgId> {
    let sql =
        "INSERT INTO organizations (name, environment, created_at, signing_key, previous_signing_key, previous_until,
                                    event_mark)
               VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING org";
    let Organization { org: _, name, environment, created_at, signing_key, previous_signing_key, event_mark } =
        organization;
    let (previous, until) = previous_signing_key.as_ref().map(|(key, until)| (key, until.micros())).unzip();
    let params: Vec<Param<'_>> = vec![
        Box::new(&**name),
        Box::new(&**environment),
        Box::new(created_at.micros()),
        Box::new(&**signing_key),
        Box::new(previous),
        Box::new(until),
        Box::new(event_mark),
    ];
    let rows = transaction.fly(Frame { begin: Some("BEGIN"), commit: false }, &[Query::new(sql, params)]).await?;
    let made = each(rows.first().map_or(&[], Vec::as_slice), |cells| cells.next())?.pop();
    let org: OrgId = made.ok_or_else(|| StoreError::Broken("a new organization got no number".to_owned()))?;
    transaction.fly(Frame { begin: None, commit: true }, &audit::steps(audit)).await?;
    Ok(org)
}

pub(super) async fn organizations(server: &PostgresServer) -> Result<Vec<Organization>> {
    let sql = format!("SELECT {ORGANIZATION} FROM organizations ORDER BY org");
    each(&server.query(&sql, &[]).await?, rows::organization)
}
