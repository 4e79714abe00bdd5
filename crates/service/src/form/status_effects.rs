//! What each combination of status and reason stops.

use super::fields::*;
use super::form;
use daybook_engine::effects::{StatusEffects, Stops};
use daybook_engine::status::Status;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use utoipa::openapi::schema::{AdditionalProperties, Type};
use utoipa::openapi::{ObjectBuilder, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

form! {
    /// What a status stops while it lasts. When it ends, Daybook does not catch up on what it stopped.
    PairEffects {
        ;
        /// Whether an instalment that is unpaid when its grace period ends is charged a late fee and counts as late.
        late_fees: LateFeesEffect,
        /// Whether interest accrues. `STOP` sets the rate to 0 from the date of the status to the date it ends. A
        /// `FLAT` loan has no rate and is not affected.
        interest: InterestEffect,
        /// Whether late instalments count towards delinquency and charge-off.
        delinquency: DelinquencyEffect,
        /// Whether configurable notices are sent. `due_date_passed` and `payment_missed` are always sent.
        notices: NoticesEffect,
    }
}

impl PairEffects {
    /// All effects of a combination, with explicit values.
    fn of(stops: Stops) -> PairEffects {
        PairEffects {
            late_fees: Some(if stops.late_fees { LateFeesEffect::Stop } else { LateFeesEffect::Charge }),
            interest: Some(if stops.interest { InterestEffect::Stop } else { InterestEffect::Accrue }),
            delinquency: Some(if stops.delinquency { DelinquencyEffect::Stop } else { DelinquencyEffect::Count }),
            notices: Some(if stops.notices { NoticesEffect::Stop } else { NoticesEffect::Send }),
        }
    }

    fn stops(&self, usual: Stops) -> Stops {
        Stops {
            late_fees: self.late_fees.map_or(usual.late_fees, |effect| effect == LateFeesEffect::Stop),
            interest: self.interest.map_or(usual.interest, |effect| effect == InterestEffect::Stop),
            delinquency: self.delinquency.map_or(usual.delinquency, |effect| effect == DelinquencyEffect::Stop),
            notices: self.notices.map_or(usual.notices, |effect| effect == NoticesEffect::Stop),
        }
    }
}

/// What the statuses of a product's accounts stop. Absent combinations and values have their defaults.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EffectsByStatus(BTreeMap<Status, PairEffects>);

impl EffectsByStatus {
    /// Every combination with all its values.
    pub fn of(effects: &StatusEffects) -> EffectsByStatus {
        EffectsByStatus(pairs().map(|status| (status, PairEffects::of(effects.of(status)))).collect())
    }

    /// The effects in the engine's form.
    pub fn effects(&self) -> StatusEffects {
        let mut effects = StatusEffects::default();
        for (status, given) in &self.0 {
            effects.set(*status, given.stops(StatusEffects::default_of(*status)));
        }
        effects
    }
}

/// The combinations whose effects a product can choose.
fn pairs() -> impl Iterator<Item = Status> {
    Status::all().filter(|status| !status.is_closed())
}

impl<'de> Deserialize<'de> for EffectsByStatus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<EffectsByStatus, D::Error> {
        struct EffectsVisitor;
        impl<'de> Visitor<'de> for EffectsVisitor {
            type Value = EffectsByStatus;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<EffectsByStatus, M::Error> {
                let mut given = BTreeMap::new();
                while let Some((name, effects)) = map.next_entry::<String, PairEffects>()? {
                    let Some(status) = Status::parse_pair(&name).filter(|status| !status.is_closed()) else {
                        let known: Vec<String> = pairs().map(|status| status.to_string()).collect();
                        let known = known.join(", ");
                        let rule = format!("must name only these pairs: {known}; {name} is not one of them");
                        return Err(M::Error::custom(rule));
                    };
                    if given.insert(status, effects).is_some() {
                        return Err(M::Error::custom(format!("must not give {name} twice")));
                    }
                }
                Ok(EffectsByStatus(given))
            }
        }
        deserializer.deserialize_map(EffectsVisitor)
    }
}

impl Serialize for EffectsByStatus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(status, effects)| (status.to_string(), effects)))
    }
}

impl PartialSchema for EffectsByStatus {
    fn schema() -> RefOr<Schema> {
        let about = "What each combination of status and reason stops, such as `SUSPENDED/FRAUD`, or `ACTIVE` alone. \
                     An absent combination or value has its default.";
        let object = ObjectBuilder::new().schema_type(Type::Object).description(Some(about));
        let object = pairs().fold(object, |object, status| {
            object.property(status.to_string(), utoipa::openapi::Ref::from_schema_name(PairEffects::name()))
        });
        object.additional_properties(Some(AdditionalProperties::FreeForm(false))).into()
    }
}

impl ToSchema for EffectsByStatus {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((PairEffects::name().into_owned(), PairEffects::schema()));
        PairEffects::schemas(schemas);
    }
}
