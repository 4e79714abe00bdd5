//! Products: the terms shared by all their accounts.

use super::fields::*;
use super::{EffectsByStatus, Problem, form};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use utoipa::openapi::schema::{AdditionalProperties, Type};
use utoipa::openapi::{ObjectBuilder, RefOr, Schema};

/// The path of the close of business.
pub(crate) const CLOSE_OF_BUSINESS: &str = "product_lifecycle_policies.billing_cycle_policies.close_of_business_time";

form! {
    /// A product. All policy has defaults.
    NewProduct {
        /// What it is called and what it is.
        product_overview: ProductOverview,
        ;
        /// The id; made by the service where none is given.
        product_id: Id,
        /// From when it may be used.
        effective_at: Moment,
        /// How its accounts are serviced.
        product_lifecycle_policies: LifecyclePolicies,
        /// For revolving products.
        promotional_policies: PromoFamily,
        /// The number of instalments and the rate.
        post_promotional_policies: PostPromotionalPolicies,
        /// For the people who run it.
        admin: Admin,
        /// Not supported.
        payment_processor_config: Ignored,
        /// Not supported.
        plaid_config: Ignored,
        /// Not supported.
        disbursements_config: Ignored,
        /// Not supported.
        payouts_config: Ignored,
        /// Not supported.
        discounts: Ignored,
        /// Not supported.
        associated_entities: Ignored,
        /// For reports to credit bureaus: stored and given back, without effect.
        metro2_config: Kept,
        /// Not supported.
        issuer_processor_details: Ignored,
    }
}

form! {
    /// What a product is called and what it is.
    ProductOverview {
        /// Its name.
        product_name: Title,
        /// Its type.
        product_type: ProductType,
        ;
        /// A few words about it.
        product_short_description: ShortText,
        /// More words about it.
        product_long_description: LongText,
        /// A colour to show it in.
        product_color: ShortText,
    }
}

form! {
    /// How the accounts of a product are serviced.
    LifecyclePolicies {
        ;
        /// Cycles and due dates.
        billing_cycle_policies: BillingCyclePolicies,
        /// What late instalments lead to.
        payment_due_policies: PaymentDuePolicies,
        /// Late fees.
        fee_policies: FeePolicies,
        /// How the principal is spread.
        amortization_policies: AmortizationPolicies,
        /// How interest is counted.
        interest_policies: InterestPolicies,
        /// Where payments go.
        payment_pouring_policies: PaymentPouringPolicies,
        /// How backdated inputs count. Default: `AS_POSTED`.
        backdating_policy: BackdatingPolicy,
        /// How far back accounts may begin.
        opening_policies: OpeningPolicies,
        /// Amounts that an account may override.
        default_attributes: DefaultAttributes,
        /// What a status stops, by pair of status and reason.
        status_effects: EffectsByStatus,
    }
}

form! {
    /// Cycles and due dates.
    BillingCyclePolicies {
        ;
        /// The length of a cycle. Default: `1 month`.
        cycle_interval: IntervalText,
        /// From a cycle's end to the due date; negative: before it. Default: `0 days`.
        cycle_due_interval: IntervalText,
        /// The length of the first cycle. Default: the same as the others.
        first_cycle_interval: IntervalText,
        /// When a business day ends, on the clocks of the zone. An offset may follow: it must be one that the zone has,
        /// and it changes nothing. Default: `23:59:59`.
        close_of_business_time: CloseOfBusiness,
        /// The zone whose calendar and clocks count. Default: `America/New_York`.
        product_time_zone: ZoneName,
    }
}

form! {
    /// What late instalments lead to.
    PaymentDuePolicies {
        ;
        /// So many late instalments in a row make an account delinquent. Default: 1.
        delinquent_on_n_consecutive_late_fees: PositiveCount,
        /// So many late instalments in a row charge it off. Default: 99999, which is never.
        charge_off_on_n_consecutive_late_fees: PositiveCount,
    }
}

form! {
    /// Late fees.
    FeePolicies {
        ;
        /// How long after the due date an unpaid instalment becomes late. Default: `0 days`.
        late_fee_grace: IntervalText,
        /// Whether the due date is the first day of grace. Default: false.
        late_fee_grace_counts_due_date: bool,
        /// What the fee is. Default: `FLAT`.
        late_fee_type: LateFeeType,
        /// The part, for the percent types.
        late_fee_percent: PercentText,
        /// At least this much.
        late_fee_min_cents: AmountOrZero,
        /// At most this much.
        late_fee_max_cents: AmountOrZero,
        /// At most this part of what is unpaid of the instalment.
        late_fee_cap_percent: PercentText,
        /// Not supported.
        surcharge_fee_interval: Ignored,
        /// Not supported: every `percent_surcharge` must be 0.
        default_surcharge_fee_structure: Ignored,
        /// Which money for an instalment spares it the late fee although older debts took it. Default: `RECEIPTS`.
        late_fee_pyramiding: LateFeePyramiding,
    }
}

form! {
    /// How the principal is spread over the instalments.
    AmortizationPolicies {
        ;
        /// The method. Default: `LEVEL`.
        method: AmortizationMethod,
        /// So many instalments at the beginning are interest alone. Default: 0.
        interest_only_cycles: Count,
        /// Where dates fall that a month does not have. Default: `CLAMP`.
        month_end: MonthEndRule,
        /// Instalments are multiples of this. Default: 1.
        installment_rounding_cents: Amount,
        /// Whether the level payment is moved once to bring the last instalment closer. Default: false.
        smooth_last_installment: bool,
    }
}

form! {
    /// How interest is counted.
    InterestPolicies {
        ;
        /// When. Default: `PERIODIC`.
        interest_calc_method: InterestCalcMethod,
        /// Which share of a year a day is. Default: `THIRTY_360`.
        day_count: DayCountRule,
        /// What to do with half a cent. Default: `HALF_EVEN`.
        rounding: RoundingRule,
        /// What happens after the last due date. Default: `ACCRUE`.
        interest_after_maturity: InterestAfterMaturity,
    }
}

form! {
    /// Where payments go.
    PaymentPouringPolicies {
        ;
        /// Which debts come first. What it leaves out follows in the default order: `PAST_DUE_INTEREST`,
        /// `PAST_DUE_PRINCIPAL`, `DUE_INTEREST`, `DUE_PRINCIPAL`, `PAST_DUE_FEE`, `PAST_DUE_PENALTY`, `DUE_FEE`,
        /// `DUE_PENALTY`.
        #[serde(deserialize_with = "list::<_, _, MOST_BUCKETS>")]
        #[schema(max_items = 12)]
        order: Vec<BucketName>,
        /// Which way through them. Default: `INSTALLMENTS_FIRST`; `BUCKET_FIRST` where `order` is given.
        span: PouringSpan,
        /// Where money goes that is left when nothing is due. Default: `LAST_INSTALLMENT`.
        surplus: SurplusRule,
    }
}

form! {
    /// How far back an account may begin. What is opened in migration mode may begin at any time.
    OpeningPolicies {
        ;
        /// At most so many years before now. Default: 60.
        most_years_back: PositiveCount,
        /// At most so many due dates before now. Default: 40000.
        most_due_dates_back: PositiveCount,
    }
}

form! {
    /// Amounts that an account may override.
    DefaultAttributes {
        ;
        /// The credit limit.
        default_credit_limit_cents: AmountOrZero,
        /// The late fee, for the type `FLAT`. Default: 0.
        default_late_fee_cents: AmountOrZero,
        /// The fee for a payment that bounces. Default: 0.
        default_payment_reversal_fee_cents: AmountOrZero,
    }
}

form! {
    /// The number of instalments and the rate.
    PostPromotionalPolicies {
        ;
        /// The number of instalments; required for an instalment product.
        post_promo_len: PositiveCount,
        /// The yearly rate. Default: 0.
        post_promo_default_interest_rate_percent: PercentText,
    }
}

form! {
    /// For the people who run a product.
    Admin {
        ;
        /// Whether it starts out holding its events. Default: false.
        migration_mode: bool,
    }
}

form! {
    /// Turns migration mode on or off.
    SetMigrationMode {
        /// True holds events; false processes those held.
        migration_mode: bool,
        ;
        /// With `false`: whether webhooks are sent for what was effective before the release. Default: `SEND`.
        historical_webhooks: HistoricalWebhooks,
    }
}

impl SetMigrationMode {
    /// Checks rules across fields.
    pub fn check(&self) -> Result<(), Problem> {
        match (self.migration_mode, self.historical_webhooks) {
            (true, Some(_)) => Err(Problem::new("historical_webhooks", "is allowed only with migration_mode false")),
            _ => Ok(()),
        }
    }

    /// Whether webhooks for events effective before the release are suppressed.
    pub fn suppresses_history(&self) -> bool {
        self.historical_webhooks == Some(HistoricalWebhooks::Suppress)
    }
}

impl NewProduct {
    /// Checks the rules that apply to new products only.
    pub fn check(&self) -> Result<(), Problem> {
        check_metro2(self.metro2_config.as_ref())
    }

    /// The zone that determines dates and times, if one is named.
    pub fn zone(&self) -> Option<&ZoneName> {
        self.product_lifecycle_policies.as_ref()?.billing_cycle_policies.as_ref()?.product_time_zone.as_ref()
    }

    /// Removes the offset from a close of business. It is a local time of day in the product's zone, so the offset must
    /// be one that the zone uses and adds no information.
    pub fn settle_close_of_business(&mut self) -> Result<(), Problem> {
        let Some(zone) = crate::policy::zone(self) else { return Ok(()) };
        let life = self.product_lifecycle_policies.as_mut();
        if let Some(billing) = life.and_then(|life| life.billing_cycle_policies.as_mut())
            && let Some(close) = &mut billing.close_of_business_time
        {
            let time = close.get().local(&zone).map_err(|rule| Problem::new(CLOSE_OF_BUSINESS, rule))?;
            *close = CloseOfBusiness::known(DailyTime { time, offset_seconds: None });
        }
        Ok(())
    }

    /// Whether its events are held from the start.
    pub fn starts_in_migration_mode(&self) -> bool {
        self.admin.as_ref().and_then(|admin| admin.migration_mode).unwrap_or(false)
    }

    /// Names the given fields that have no effect.
    pub fn warnings(&self) -> Vec<String> {
        let promo = self.promotional_policies.as_ref().map(|family| family.warnings("promotional_policies"));
        let fees = self.product_lifecycle_policies.as_ref().and_then(|life| life.fee_policies.as_ref());
        let fees_path = "product_lifecycle_policies.fee_policies";
        let (interval, structure) =
            (format!("{fees_path}.surcharge_fee_interval"), format!("{fees_path}.default_surcharge_fee_structure"));
        let others = warnings(&[
            (&interval, fees.is_some_and(|fees| fees.surcharge_fee_interval.is_some())),
            (&structure, fees.is_some_and(|fees| fees.default_surcharge_fee_structure.is_some())),
            ("payment_processor_config", self.payment_processor_config.is_some()),
            ("plaid_config", self.plaid_config.is_some()),
            ("disbursements_config", self.disbursements_config.is_some()),
            ("payouts_config", self.payouts_config.is_some()),
            ("discounts", self.discounts.is_some()),
            ("associated_entities", self.associated_entities.is_some()),
            ("issuer_processor_details", self.issuer_processor_details.is_some()),
        ]);
        promo.into_iter().flatten().chain(others).chain(metro2_warning(self.metro2_config.is_some())).collect()
    }
}

/// Fields of promotional periods, which revolving products have. All names begin with `promo_`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PromoFamily(BTreeMap<String, Ignored>);

impl PromoFamily {
    const MOST: usize = 50;

    /// A field by name.
    pub fn get(&self, name: &str) -> Option<&Ignored> {
        self.0.get(name)
    }

    /// Names the given fields that request something.
    pub fn warnings(&self, parent: &str) -> Vec<String> {
        let given = self.0.iter().filter(|(_, value)| !value.asks_for_nothing());
        let paths: Vec<String> = given.map(|(name, _)| format!("{parent}.{name}")).collect();
        let fields: Vec<(&str, bool)> = paths.iter().map(|path| (path.as_str(), true)).collect();
        warnings(&fields)
    }
}

impl<'de> Deserialize<'de> for PromoFamily {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PromoFamily, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = PromoFamily;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<PromoFamily, M::Error> {
                let mut family = BTreeMap::new();
                while let Some((name, value)) = map.next_entry::<String, Ignored>()? {
                    let known =
                        name.starts_with("promo_") && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
                    if !known {
                        return Err(M::Error::custom(format!(
                            "must not contain the field {name}: the names of its fields begin with promo_"
                        )));
                    }
                    if family.len() == PromoFamily::MOST {
                        return Err(M::Error::custom(format!("must have at most {} fields", PromoFamily::MOST)));
                    }
                    family.insert(name, value);
                }
                Ok(PromoFamily(family))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

impl Serialize for PromoFamily {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(&self.0)
    }
}

impl utoipa::PartialSchema for PromoFamily {
    fn schema() -> RefOr<Schema> {
        let about = "`promo_len` and its family, for revolving products. On instalment products they are accepted \
                     without effect, and listed in `warnings` of the answer.";
        ObjectBuilder::new()
            .schema_type(Type::Object)
            .description(Some(about))
            .additional_properties(Some(AdditionalProperties::FreeForm(true)))
            .into()
    }
}

impl utoipa::ToSchema for PromoFamily {}
