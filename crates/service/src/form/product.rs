//! Products: the terms shared by all their accounts.

use super::fields::*;
use super::policy_parts::{BusinessDayPolicy, LateFeeTierPolicy, MOST_TIERS, ReAgeLimitPolicy};
use super::{EffectsByStatus, FieldProblem, form};
use daybook_engine::zone::Zone;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use utoipa::openapi::schema::{AdditionalProperties, Type};
use utoipa::openapi::{ObjectBuilder, RefOr, Schema};

/// The zone of products that name none.
pub const DEFAULT_ZONE: &str = "America/New_York";

/// The path of the close of business.
pub(crate) const CLOSE_OF_BUSINESS: &str = "product_lifecycle_policies.billing_cycle_policies.close_of_business_time";

form! {
    /// A product. Every policy has a default.
    NewProduct {
        /// Its name, type and descriptions.
        product_overview: ProductOverview,
        ;
        /// The id; generated if absent.
        product_id: Id,
        /// Its effective date.
        effective_at: Moment,
        /// How its accounts are serviced.
        product_lifecycle_policies: LifecyclePolicies,
        /// For revolving products.
        promotional_policies: PromoFamily,
        /// The number of instalments and the rate.
        post_promotional_policies: PostPromotionalPolicies,
        /// Administrative settings.
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
        /// For reports to credit bureaus: stored and returned, without effect.
        metro2_config: StoredObject,
        /// Not supported.
        issuer_processor_details: Ignored,
    }
}

form! {
    /// The name, type and descriptions of a product.
    ProductOverview {
        /// Its name.
        product_name: Title,
        /// Its type.
        product_type: ProductType,
        ;
        /// A short description.
        product_short_description: ShortText,
        /// A long description.
        product_long_description: LongText,
        /// A colour to display it in.
        product_color: ShortText,
    }
}

form! {
    /// How the accounts of a product are serviced.
    LifecyclePolicies {
        ;
        /// Cycles and due dates.
        billing_cycle_policies: BillingCyclePolicies,
        /// The consequences of late instalments.
        payment_due_policies: PaymentDuePolicies,
        /// Late fees.
        fee_policies: FeePolicies,
        /// How the principal is spread over the instalments.
        amortization_policies: AmortizationPolicies,
        /// How interest is computed.
        interest_policies: InterestPolicies,
        /// How payments are allocated.
        payment_pouring_policies: PaymentPouringPolicies,
        /// When backdated inputs take effect. Default: `AS_POSTED`.
        backdating_policy: BackdatingPolicy,
        /// How far in the past accounts may begin.
        opening_policies: OpeningPolicies,
        /// Amounts that an account may override.
        default_attributes: DefaultAttributes,
        /// What each combination of status and reason stops.
        status_effects: EffectsByStatus,
    }
}

form! {
    /// Cycles and due dates.
    BillingCyclePolicies {
        ;
        /// The length of a cycle, or `semi-month` for two instalments a month. Default: `1 month`.
        cycle_interval: CycleText,
        /// With `semi-month`: the two days of the month on which instalments fall due. In a shorter month, the last day
        /// takes the place of the days that it lacks. Default: the 1st and the 15th.
        semi_monthly_days: [DayOfMonth; 2],
        /// Business days, and where other due dates move. Default: due dates do not move.
        business_days: BusinessDayPolicy,
        /// The time from the end of a cycle to the due date; negative if the due date is earlier. Default: `0 days`.
        cycle_due_interval: IntervalText,
        /// The length of the first cycle. Default: the same as the others.
        first_cycle_interval: IntervalText,
        /// When a business day ends, as local time in the time zone. It may carry an offset, which must be one that the
        /// zone uses and has no effect. Default: `23:59:59`.
        close_of_business_time: CloseOfBusiness,
        /// The time zone that determines dates and times. Default: `America/New_York`.
        product_time_zone: ZoneName,
    }
}

form! {
    /// The consequences of late instalments.
    PaymentDuePolicies {
        ;
        /// The number of consecutive late instalments that make an account delinquent. Default: 1.
        delinquent_on_n_consecutive_late_fees: PositiveCount,
        /// The number of consecutive late instalments that charge an account off. Default: 99999, which means never.
        charge_off_on_n_consecutive_late_fees: PositiveCount,
        /// How much may be missing of an instalment that counts as paid. Default: nothing.
        shortfall_tolerance_cents: AmountOrZero,
        /// The same, as a percentage of the instalment.
        shortfall_tolerance_percent: SharePercent,
        /// Which of the two limits applies if both are given. Default: `HIGHER`.
        shortfall_tolerance_rule: ShortfallRuleName,
        /// Which instalment asks for what is missing. Default: `NEXT_INSTALLMENT`.
        shortfall_goes_to: ShortfallTarget,
        /// The largest payoff that is written off after a payment or when the last instalment falls due. Default: 0,
        /// which means none.
        write_off_balance_cents: SmallAmount,
        /// How often an account may be re-aged or restructured. Default: no limit.
        re_age_limits: ReAgeLimitPolicy,
    }
}

form! {
    /// Late fees.
    FeePolicies {
        ;
        /// The grace period: how long after the due date an unpaid instalment becomes late. Default: `0 days`.
        late_fee_grace: IntervalText,
        /// Whether the due date is the first day of the grace period. Default: false.
        late_fee_grace_counts_due_date: bool,
        /// How the late fee is computed. Default: `FLAT`.
        late_fee_type: LateFeeType,
        /// The percentage, for the percent types.
        late_fee_percent: PercentText,
        /// The minimum late fee.
        late_fee_min_cents: AmountOrZero,
        /// The maximum late fee.
        late_fee_max_cents: AmountOrZero,
        /// The maximum late fee, as a percentage of the unpaid part of the instalment.
        late_fee_cap_percent: PercentText,
        /// Not supported.
        surcharge_fee_interval: Ignored,
        /// Not supported: every `percent_surcharge` must be 0.
        default_surcharge_fee_structure: Ignored,
        /// Which payments count as received for an instalment although they paid older debt. Default: `RECEIPTS`.
        late_fee_pyramiding: LateFeePyramiding,
        /// Several late fees for the same instalment, by days after the due date, in place of the grace period and the
        /// single fee.
        #[serde(deserialize_with = "list::<_, _, MOST_TIERS>")]
        #[schema(min_items = 1, max_items = 6)]
        late_fee_tiers: Vec<LateFeeTierPolicy>,
        /// The most that all late fees of a loan may come to, less those waived.
        late_fee_loan_cap_cents: AmountOrZero,
    }
}

form! {
    /// How the principal is spread over the instalments.
    AmortizationPolicies {
        ;
        /// The method. Default: `LEVEL`.
        method: AmortizationMethod,
        /// The number of interest-only instalments at the beginning. Default: 0.
        interest_only_cycles: Count,
        /// The date used in a month that is too short for a monthly date. Default: `CLAMP`.
        month_end: MonthEndRule,
        /// Instalments are multiples of this. Default: 1.
        installment_rounding_cents: Amount,
        /// Whether the level payment is adjusted once, so that the last instalment differs less from it. Default:
        /// false.
        smooth_last_installment: bool,
        /// For `PRECOMPUTED`: how the interest is spread over the instalments. Default: `ACTUARIAL`.
        precomputed_split: PrecomputedSplitRule,
        /// For `PRECOMPUTED`: which interest a payoff leaves out. Default: `NOT_BEGUN`.
        precomputed_refund: PrecomputedRefundRule,
    }
}

form! {
    /// How interest is computed.
    InterestPolicies {
        ;
        /// How often interest is computed. Default: `PERIODIC`.
        interest_calc_method: InterestCalcMethod,
        /// The fraction of a year that a day counts as. Default: `THIRTY_360`.
        day_count: DayCountRule,
        /// How a fraction of a cent is rounded. Default: `HALF_EVEN`.
        rounding: RoundingRule,
        /// How interest is rounded. Default: as `rounding` states.
        interest_rounding: RoundingRule,
        /// When interest is rounded to whole cents. Other values than `PERIOD_END` need the method `DAILY`. Default:
        /// `PERIOD_END`.
        interest_rounding_at: InterestRoundingMoment,
        /// Whether interest accrues after the last due date. Default: `ACCRUE`.
        interest_after_maturity: InterestAfterMaturity,
    }
}

form! {
    /// How payments are allocated.
    PaymentPouringPolicies {
        ;
        /// The order in which payments go to debts. Debts that are not listed follow in the default order:
        /// `PAST_DUE_INTEREST`, `PAST_DUE_PRINCIPAL`, `DUE_INTEREST`, `DUE_PRINCIPAL`, `PAST_DUE_FEE`,
        /// `PAST_DUE_PENALTY`, `DUE_FEE`, `DUE_PENALTY`.
        #[serde(deserialize_with = "list::<_, _, MOST_BUCKETS>")]
        #[schema(max_items = 12)]
        order: Vec<BucketName>,
        /// How a payment goes through the debts. Default: `BUCKET_FIRST` if `order` is given, otherwise
        /// `INSTALLMENTS_FIRST`.
        span: PouringSpan,
        /// Where the rest of a payment goes when nothing more is due. Default: `LAST_INSTALLMENT`.
        surplus: SurplusRule,
    }
}

form! {
    /// How far in the past an account may begin. An account that is opened in migration mode may begin at any time.
    OpeningPolicies {
        ;
        /// The maximum number of years before now. Default: 60.
        most_years_back: PositiveCount,
        /// The maximum number of due dates before now. Default: 40000.
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
    /// Administrative settings of a product.
    Admin {
        ;
        /// Whether it starts in migration mode. Default: false.
        migration_mode: bool,
    }
}

form! {
    /// Turns migration mode on or off.
    SetMigrationMode {
        /// True holds new events; false releases the held events.
        migration_mode: bool,
        ;
        /// With `false`: whether webhooks are sent for events effective before the release. Default: `SEND`.
        historical_webhooks: HistoricalWebhooks,
    }
}

impl SetMigrationMode {
    /// Checks rules across fields.
    pub fn check(&self) -> Result<(), FieldProblem> {
        match (self.migration_mode, self.historical_webhooks) {
            (true, Some(_)) => {
                Err(FieldProblem::new("historical_webhooks", "is allowed only with migration_mode false"))
            }
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
    pub fn check(&self) -> Result<(), FieldProblem> {
        check_metro2(self.metro2_config.as_ref())
    }

    /// The zone that determines dates and times: the named one, or [`DEFAULT_ZONE`].
    pub fn zone(&self) -> Option<Zone> {
        let policies = self.product_lifecycle_policies.as_ref();
        let billing = policies.and_then(|policies| policies.billing_cycle_policies.as_ref());
        let named = billing.and_then(|billing| billing.product_time_zone.as_ref());
        named.map_or_else(|| Zone::named(DEFAULT_ZONE), |zone| Some(zone.get().clone()))
    }

    /// Removes the offset from a close of business. It is a local time of day in the product's zone, so the offset must
    /// be one that the zone uses and adds no information.
    pub fn settle_close_of_business(&mut self) -> Result<(), FieldProblem> {
        let Some(zone) = self.zone() else { return Ok(()) };
        let life = self.product_lifecycle_policies.as_mut();
        if let Some(billing) = life.and_then(|life| life.billing_cycle_policies.as_mut())
            && let Some(close) = &mut billing.close_of_business_time
        {
            let time = close.get().local(&zone).map_err(|rule| FieldProblem::new(CLOSE_OF_BUSINESS, rule))?;
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
        struct PromoFamilyVisitor;
        impl<'de> Visitor<'de> for PromoFamilyVisitor {
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
        deserializer.deserialize_map(PromoFamilyVisitor)
    }
}

impl Serialize for PromoFamily {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(&self.0)
    }
}

impl utoipa::PartialSchema for PromoFamily {
    fn schema() -> RefOr<Schema> {
        let about = "`promo_len` and related fields, for revolving products. On instalment products they are accepted \
                     without effect; the response lists them in `warnings`.";
        ObjectBuilder::new()
            .schema_type(Type::Object)
            .description(Some(about))
            .additional_properties(Some(AdditionalProperties::FreeForm(true)))
            .into()
    }
}

impl utoipa::ToSchema for PromoFamily {}
