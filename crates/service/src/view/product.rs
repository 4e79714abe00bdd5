//! Products, and their migration mode.

use super::time::Local;
use crate::form::fields::{PercentText, ProductType, StoredObject};
use crate::form::{FieldProblem, LifecyclePolicies, NewProduct, PostPromotionalPolicies};
use crate::policy;
use daybook_engine::terms::Policy;
use daybook_engine::time::Time;
use daybook_engine::zone::Zone;
use serde::Serialize;
use utoipa::ToSchema;

/// The facts about a product that views need; computed once per product.
#[derive(Clone, Debug)]
pub struct ProductFacts {
    /// Its id.
    pub product_id: String,
    /// Its name, type and descriptions.
    pub overview: ProductOverview,
    /// The zone that determines dates and times.
    pub zone: Zone,
    /// The policy of its accounts.
    pub policy: Policy,
    /// Warnings about given fields that have no effect.
    pub warnings: Vec<String>,
}

impl ProductFacts {
    /// The facts of a stored product.
    pub fn new(product_id: impl Into<String>, product: &NewProduct) -> Result<ProductFacts, Vec<FieldProblem>> {
        let policy = policy::product_policy(product, None)?;
        let given = &product.product_overview;
        let text = |text: Option<&str>| text.map(str::to_owned);
        Ok(ProductFacts {
            product_id: product_id.into(),
            overview: ProductOverview {
                product_name: given.product_name.as_str().to_owned(),
                product_type: given.product_type,
                product_short_description: text(given.product_short_description.as_ref().map(|text| text.as_str())),
                product_long_description: text(given.product_long_description.as_ref().map(|text| text.as_str())),
                product_color: text(given.product_color.as_ref().map(|text| text.as_str())),
            },
            zone: policy.zone.clone(),
            policy,
            warnings: product.warnings(),
        })
    }
}

/// The name, type and descriptions of a product.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = ProductOverviewView)]
pub struct ProductOverview {
    /// Its name.
    pub product_name: String,
    /// Its type.
    pub product_type: ProductType,
    /// A short description.
    pub product_short_description: Option<String>,
    /// A long description.
    pub product_long_description: Option<String>,
    /// A colour to display it in.
    pub product_color: Option<String>,
}

/// A product as it is stored, with every default filled in.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Product {
    /// Its id.
    pub product_id: String,
    /// When it was created.
    pub created_at: Local,
    /// Its effective date.
    pub effective_at: Local,
    /// Its name, type and descriptions.
    pub product_overview: ProductOverview,
    /// How its accounts are serviced.
    pub product_lifecycle_policies: LifecyclePolicies,
    /// The number of instalments and the rate.
    pub post_promotional_policies: PostPromotionalPolicies,
    /// Whether its events are held.
    pub migration_mode: bool,
    /// Its migration state.
    pub migration_state: MigrationState,
    /// For reports to credit bureaus: returned as it was given, without effect. Absent if it was not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<StoredObject>)]
    pub metro2_config: Option<serde_json::Value>,
    /// Warnings about given fields that have no effect; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl Product {
    /// The view of a product.
    pub fn new(facts: &ProductFacts, product: &NewProduct, created_at: Time, state: MigrationState) -> Product {
        let attributes = product.product_lifecycle_policies.as_ref().and_then(|life| life.default_attributes.as_ref());
        let credit_limit = attributes.and_then(|attributes| attributes.default_credit_limit_cents);
        let (mut life, post) = policy::describe(&facts.policy, credit_limit.map(|limit| limit.get()));
        life.opening_policies = Some(policy::openings(product));
        let effective_at = product.effective_at.as_ref().map_or(created_at, |moment| *moment.get());
        Product {
            product_id: facts.product_id.clone(),
            created_at: Local::new(created_at, &facts.zone),
            effective_at: Local::new(effective_at, &facts.zone),
            product_overview: facts.overview.clone(),
            product_lifecycle_policies: life,
            post_promotional_policies: post,
            migration_mode: state == MigrationState::Holding,
            migration_state: state,
            metro2_config: product.metro2_config.as_ref().and_then(|config| config.given_back()),
            warnings: facts.warnings.clone(),
        }
    }
}

/// The migration state of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum MigrationState {
    /// Each event is processed as it arrives.
    Normal,
    /// Events are held.
    Holding,
    /// Held events are being processed.
    Releasing,
}

impl MigrationState {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            MigrationState::Normal => "NORMAL",
            MigrationState::Holding => "HOLDING",
            MigrationState::Releasing => "RELEASING",
        }
    }
}

/// The response to turning migration mode on or off.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct MigrationMode {
    /// The effect of the new mode, as a sentence.
    pub description: String,
    /// Whether events are held.
    pub migration_mode: bool,
    /// The number of held events.
    pub held_events: u64,
    /// The number of accounts with held events.
    pub held_accounts: u64,
}

impl MigrationMode {
    /// The response.
    pub fn new(migration_mode: bool, held_events: u64, held_accounts: u64) -> MigrationMode {
        let description = match (migration_mode, held_events) {
            (true, _) => "Migration mode is on: new events are held until you release them.".to_owned(),
            (false, 0) => "Migration mode is off: events are processed as they arrive.".to_owned(),
            (false, 1) => "Migration mode is off: 1 held event is being processed.".to_owned(),
            (false, _) => format!("Migration mode is off: {held_events} held events are being processed."),
        };
        MigrationMode { description, migration_mode, held_events, held_accounts }
    }
}

/// The progress of a release.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct MigrationProgress {
    /// Whether events are held.
    pub migration_mode: bool,
    /// The product's migration state.
    pub state: MigrationState,
    /// The number of events that are still held.
    pub held_events: u64,
    /// The number of accounts to release.
    pub accounts_total: u64,
    /// The number of accounts released so far.
    pub accounts_done: u64,
    /// The number of held events processed so far.
    pub events_done: u64,
    /// Accounts that could not be processed; they keep their former state and their held events.
    pub failed_accounts: Vec<FailedAccount>,
    /// When the release began.
    pub started_at: Option<Local>,
    /// When the release ended.
    pub finished_at: Option<Local>,
    /// The estimated remaining time in seconds, at the pace so far.
    pub eta_seconds: Option<u64>,
}

/// A release that is done.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct MigrationReleased<'a> {
    /// The product.
    pub product_id: &'a str,
    /// The number of accounts that held events when the release began.
    pub accounts_total: i64,
    /// The number of events that were held when the release began.
    pub events_total: i64,
    /// The number of accounts that could not be processed.
    pub failed_accounts: i64,
    /// When the release began.
    pub started_at: Option<Local>,
    /// When the release ended.
    pub finished_at: Local,
}

/// An account that could not be processed.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct FailedAccount {
    /// The account.
    pub account_id: String,
    /// The reason.
    pub reason: String,
}

/// The engine's percentage as a number in its shortest form.
pub(super) fn percent(percent: daybook_engine::money::Percent) -> PercentText {
    PercentText::known(percent)
}
