//! Maintenance of the database.

use super::cells::{Cells, each, maybe};
use super::server::refused;
use super::{Postgres, earlier_messages, guards, message_checks, migrate};
use crate::Result;
use crate::guards::{ForeignTrigger, LostGuard};
use crate::portfolio_queries::SearchedKind;
use crate::records::{AccountKey, OrgId};
use crate::upkeep::{
    AttemptWords, Correction, HOURS_OFF, HourOff, Kinds, LogStanding, MessageRowsChecked, ORPHANS, Orphan,
    TablesStanding, Upkeep, in_words,
};
use async_trait::async_trait;
use daybook_engine::time::Time;
use std::sync::Arc;
use tokio_postgres::Transaction;

/// Rows of a webhook URL that are stored under an organization other than the URL's, as these tables store it redundantly;
/// and events of messages of an organization that does not exist.
const ELSEWHERE: &[Kinds] = &[
    Kinds {
        what: "is the number of a webhook URL whose failed messages are stored under another organization",
        find: "SELECT DISTINCT f.org, f.subscription::text FROM failures f
               JOIN subscriptions s ON s.id = f.subscription WHERE s.org <> f.org",
        remove: Some(
            "UPDATE failures f SET org = s.org FROM subscriptions s WHERE s.id = f.subscription AND s.org <> f.org",
        ),
    },
    Kinds {
        what: "is the number of a webhook URL whose range of the log is stored under another organization",
        find: "SELECT DISTINCT r.org, r.subscription::text FROM ranges r
               JOIN subscriptions s ON s.id = r.subscription WHERE s.org <> r.org",
        remove: Some(
            "UPDATE ranges r SET org = s.org FROM subscriptions s WHERE s.id = r.subscription AND s.org <> r.org",
        ),
    },
    Kinds {
        what: "is the number of a webhook URL whose attempts are stored under another organization",
        find: "SELECT DISTINCT a.org, a.subscription::text FROM attempts a
               JOIN subscriptions s ON s.id = a.subscription WHERE s.org <> a.org",
        remove: Some(
            "UPDATE attempts a SET org = s.org FROM subscriptions s WHERE s.id = a.subscription AND s.org <> a.org",
        ),
    },
    Kinds {
        what: "is listed as the event of a message whose organization does not exist",
        find: "SELECT DISTINCT v.org, v.event FROM message_events v
               WHERE NOT EXISTS (SELECT FROM organizations o WHERE o.org = v.org)",
        remove: Some("DELETE FROM message_events v WHERE NOT EXISTS (SELECT FROM organizations o WHERE o.org = v.org)"),
    },
];

const ATTEMPT: AttemptWords = AttemptWords {
    org: "a.org",
    position: "a.position",
    of_failure: "a.subscription = f.subscription AND a.org = s.org AND a.position = f.position",
    last_subscription: "pg_sequence_last_value(pg_get_serial_sequence('subscriptions', 'id')::regclass)",
};

#[async_trait]
impl Upkeep for Postgres {
    fn migrated(&self) -> Vec<i64> {
        self.migrated.clone()
    }

    async fn tables(&self) -> Result<TablesStanding> {
        migrate::standing(&self.server).await
    }

    async fn account_customers(&self, key: &AccountKey) -> Result<Vec<(Arc<str>, String)>> {
        let sql =
            "SELECT customer_id, role FROM account_customers WHERE org = $1 AND account = $2 ORDER BY customer_id";
        let rows = self.server.query(sql, &[&key.org, &&*key.account]).await?;
        each(&rows, |cells| Ok((cells.text()?, cells.next()?)))
    }

    async fn words_of(&self, org: OrgId, kind: SearchedKind, id: &str) -> Result<Vec<String>> {
        let sql = "SELECT word FROM words WHERE org = $1 AND kind = $2 AND id = $3 ORDER BY word";
        each(&self.server.query(sql, &[&org, &kind.number(), &id]).await?, |cells| cells.next())
    }

    async fn orphans(&self) -> Result<Vec<Orphan>> {
        let mut found = Vec::new();
        for kind in ORPHANS.iter().chain(ELSEWHERE) {
            let rows = self.server.query(&in_words(kind.find, "customer_id"), &[]).await?;
            for row in &rows {
                let id = row.try_get(1).map_err(refused)?;
                found.push(Orphan { what: kind.what, id, removable: kind.remove.is_some(), is_attempt: false });
            }
        }
        let (what, find, _) = ATTEMPT.miscounted();
        for row in &self.server.query(&find, &[]).await? {
            found.push(Orphan { what, id: row.try_get(1).map_err(refused)?, removable: true, is_attempt: false });
        }
        for (what, find) in ATTEMPT.unsound() {
            for row in &self.server.query(&find, &[]).await? {
                found.push(Orphan { what, id: row.try_get(1).map_err(refused)?, removable: false, is_attempt: true });
            }
        }
        Ok(found)
    }

    async fn remove_orphans(&self) -> Result<u64> {
        let mut client = self.server.client().await?;
        let transaction = client.transaction().await.map_err(refused)?;
        let mut removed = 0;
        for sql in ORPHANS.iter().chain(ELSEWHERE).filter_map(|kind| kind.remove) {
            removed += transaction.execute(&in_words(sql, "customer_id"), &[]).await.map_err(refused)?;
        }
        let (_, _, correct) = ATTEMPT.miscounted();
        removed += transaction.execute(&correct, &[]).await.map_err(refused)?;
        transaction.commit().await.map_err(refused)?;
        client.give_back();
        Ok(removed)
    }

    async fn log_standing(&self, org: OrgId) -> Result<LogStanding> {
        let sql = "SELECT coalesce((SELECT head FROM log_heads WHERE org = $1), 0),
                          coalesce((SELECT hurried FROM log_heads WHERE org = $1), 0),
                          coalesce(min(position - size + 1), 0), coalesce(max(position), 0),
                          coalesce(sum(size), 0)::bigint
                   FROM message_groups WHERE org = $1";
        let standing = maybe(self.server.query_opt(sql, &[&org]).await?, |cells| {
            Ok(LogStanding {
                head: cells.next()?,
                hurried: cells.next()?,
                first: cells.next()?,
                last: cells.next()?,
                count: cells.next()?,
            })
        });
        Ok(standing?.unwrap_or_default())
    }

    async fn check_message_rows(&self, org: OrgId, after: i64, limit: usize) -> Result<MessageRowsChecked> {
        message_checks::checked(&self.server, org, after, limit).await
    }

    async fn correct_message_rows(&self, org: OrgId, positions: &[i64]) -> Result<()> {
        message_checks::correct_rows(&self.server, org, positions).await
    }

    async fn hours_off(&self) -> Result<Vec<HourOff>> {
        each(&self.server.query(&hours_off_sql(), &[]).await?, hour_off)
    }

    async fn recount_hours(&self) -> Result<()> {
        let mut client = self.server.client().await?;
        let transaction = client.transaction().await.map_err(refused)?;
        // An attempt recorded during the recount would be missing from the counts.
        transaction.batch_execute("LOCK TABLE attempts IN SHARE MODE").await.map_err(refused)?;
        let rows = transaction.query(&hours_off_sql(), &[]).await.map_err(refused)?;
        for off in each(&rows, hour_off)? {
            recount(&transaction, &off).await.map_err(refused)?;
        }
        transaction.commit().await.map_err(refused)?;
        client.give_back();
        Ok(())
    }

    async fn lost_guards(&self) -> Result<Vec<LostGuard>> {
        guards::lost(&self.server).await
    }

    async fn foreign_triggers(&self) -> Result<Vec<ForeignTrigger>> {
        guards::foreign(&self.server).await
    }

    async fn restore_guards(&self) -> Result<()> {
        guards::restore(&self.server).await
    }

    async fn compress_earlier_messages(&self, limit: usize) -> Result<Option<u64>> {
        earlier_messages::compress(&self.server, limit).await
    }

    async fn earlier_messages_left(&self) -> Result<Option<u64>> {
        earlier_messages::left(&self.server).await
    }

    async fn correct(&self, corrections: &[Correction]) -> Result<()> {
        let mut client = self.server.client().await?;
        let transaction = client.transaction().await.map_err(refused)?;
        for correction in corrections {
            match correction {
                Correction::Message(key, facts) if facts.waits.is_none() => {
                    message_checks::correct_message(&transaction, key, facts).await?;
                }
                _ => {
                    correct(&transaction, correction).await.map_err(refused)?;
                }
            }
        }
        transaction.commit().await.map_err(refused)?;
        client.give_back();
        Ok(())
    }
}

fn hours_off_sql() -> String {
    HOURS_OFF.replace("{org}", ATTEMPT.org)
}

fn hour_off(cells: &mut Cells<'_>) -> Result<HourOff> {
    Ok(HourOff {
        org: cells.next()?,
        hour: cells.time()?,
        subscription: cells.next()?,
        kept: (cells.next()?, cells.next()?),
        given: (cells.next()?, cells.next()?),
    })
}

async fn recount(
    transaction: &Transaction<'_>,
    HourOff { org, hour, subscription, given, .. }: &HourOff,
) -> std::result::Result<u64, tokio_postgres::Error> {
    if *given == (0, 0) {
        let sql = "DELETE FROM delivery_hours WHERE org = $1 AND hour = $2 AND subscription = $3";
        return transaction.execute(sql, &[org, &hour.micros(), subscription]).await;
    }
    let sql = "INSERT INTO delivery_hours (org, hour, subscription, delivered, failed) VALUES ($1, $2, $3, $4, $5)
               ON CONFLICT (org, hour, subscription) DO UPDATE
               SET delivered = excluded.delivered, failed = excluded.failed";
    transaction.execute(sql, &[org, &hour.micros(), subscription, &given.0, &given.1]).await
}

/// Writes a correction of anything but a message of the log.
async fn correct(
    transaction: &Transaction<'_>,
    correction: &Correction,
) -> std::result::Result<u64, tokio_postgres::Error> {
    match correction {
        Correction::AccountTimes(key, effective_at, created_at) => {
            let sql = "UPDATE accounts SET effective_at = $3, created_at = $4 WHERE org = $1 AND account = $2";
            let times = (effective_at.micros(), created_at.micros());
            transaction.execute(sql, &[&key.org, &&*key.account, &times.0, &times.1]).await
        }
        Correction::RemoveItem(key, item) => {
            let sql = "DELETE FROM line_items WHERE org = $1 AND account = $2 AND item_id = $3";
            transaction.execute(sql, &[&key.org, &&*key.account, &&**item]).await
        }
        Correction::ItemCreated(key, item, at) => {
            let sql = "UPDATE line_items SET created_at = $4 WHERE org = $1 AND account = $2 AND item_id = $3";
            transaction.execute(sql, &[&key.org, &&*key.account, &&**item, &at.micros()]).await
        }
        Correction::Message(key, facts) => {
            let Some((due_at, cancelled_at)) = facts.waits else { return Ok(0) };
            let which = "WHERE org = $1 AND account = $2 AND sequence = $3";
            let sql = format!(
                "UPDATE waiting_messages SET event = $4, event_id = $5, cause = $6, subject = $7, effective_at = $8, \
                 recorded_at = $9 {which}"
            );
            let times = (facts.effective_at.micros(), facts.recorded_at.micros());
            let (account, texts) = (&*key.account, [&facts.event, &facts.event_id, &facts.cause, &facts.subject]);
            let [event, event_id, cause, subject] = texts;
            transaction
                .execute(
                    &sql,
                    &[&key.org, &account, &facts.sequence, event, event_id, cause, subject, &times.0, &times.1],
                )
                .await?;
            let sql = format!("UPDATE waiting_messages SET due_at = $4, cancelled_at = $5 {which}");
            let (due_at, cancelled_at) = (due_at.micros(), cancelled_at.map(Time::micros));
            transaction.execute(&sql, &[&key.org, &account, &facts.sequence, &due_at, &cancelled_at]).await
        }
        Correction::OwnMessage(org, message) => {
            let sql =
                "UPDATE message_groups SET event = $3, event_id = $4, cause = '', subject = $5, effective_at = $6,
                                           recorded_at = $7, sequence = 0
                       WHERE org = $1 AND position = $2 AND account IS NULL AND size = 1";
            let times = (message.effective_at.micros(), message.recorded_at.micros());
            let [event, event_id, subject] = [&message.event, &message.event_id, &message.subject];
            transaction.execute(sql, &[org, &message.position, event, event_id, subject, &times.0, &times.1]).await
        }
        Correction::NotToRefold(key) => {
            let sql = "DELETE FROM accounts_to_refold WHERE org = $1 AND account = $2";
            transaction.execute(sql, &[&key.org, &&*key.account]).await
        }
        Correction::EmailKey(person, email_key) => {
            let sql = "UPDATE people SET email_key = $2
                       WHERE person = $1 AND NOT EXISTS (SELECT FROM people o WHERE o.email_key = $2)";
            transaction.execute(sql, &[person, email_key]).await
        }
        Correction::Head { org, before, head, hurried } => {
            let sql = "INSERT INTO log_heads (org, head, hurried) VALUES ($1, $2, $3)
                       ON CONFLICT (org) DO UPDATE SET head = excluded.head, hurried = excluded.hurried
                       WHERE log_heads.head = $4";
            transaction.execute(sql, &[org, head, hurried, before]).await
        }
    }
}
