//! Organizations: the owners of all data.

use crate::Service;
use crate::access::{Caller, Role};
use crate::audit::Act;
use crate::boxed;
use crate::ids::{mint_mark, random_bytes};
use crate::problem::Problem;
use daybook_store::audit::NO_ORGANIZATION;
use daybook_store::records::{OrgId, Organization};
use daybook_webhooks::signature::SigningKey;

/// The name of the organization that the first start creates.
pub const FIRST: &str = "first";
/// The minimum length of a chosen client secret.
pub const SHORTEST_SECRET: usize = 32;

/// What the first start creates.
#[derive(Clone, Debug, Default)]
pub struct Bootstrap {
    /// `TEST` or `LIVE`.
    pub environment: String,
    /// The client id of the first key; `None` to generate one.
    pub client_id: Option<String>,
    /// The client secret of the first key; `None` to generate one.
    pub client_secret: Option<String>,
}

/// A key that was just created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstKey {
    /// The client id.
    pub client_id: String,
    /// The secret; `None` if the operator chose it.
    pub client_secret: Option<String>,
}

impl Service {
    /// At the first start, creates an organization and its first key. Later starts change nothing.
    #[boxed]
    pub async fn bootstrap(&self, bootstrap: &Bootstrap) -> Result<Option<FirstKey>, Problem> {
        if !self.store.organizations().await?.is_empty() {
            return Ok(None);
        }
        if bootstrap.client_secret.as_ref().is_some_and(|secret| secret.len() < SHORTEST_SECRET) {
            let rule = format!("must have at least {SHORTEST_SECRET} characters");
            return Err(Problem::invalid("DAYBOOK_BOOTSTRAP_CLIENT_SECRET", rule));
        }
        let org = self.create_organization(FIRST, &bootstrap.environment).await?;
        self.first_key(
            &operator(org, &bootstrap.environment),
            bootstrap.client_id.clone(),
            bootstrap.client_secret.clone(),
        )
        .await
        .map(Some)
    }

    async fn first_key(
        &self,
        who: &Caller,
        client_id: Option<String>,
        client_secret: Option<String>,
    ) -> Result<FirstKey, Problem> {
        let Some(secret) = client_secret else {
            let (key, secret) = match client_id {
                None => self.access.create_key(who, "first key", Role::Admin).await?,
                Some(client_id) => {
                    let secret = crate::ids::mint_secret();
                    (self.access.keep_key(who, client_id, &secret, "first key", Role::Admin).await?, secret)
                }
            };
            return Ok(FirstKey { client_id: key.client_id, client_secret: Some(secret) });
        };
        let client_id = client_id.unwrap_or_else(|| crate::ids::mint_id("client"));
        let key = self.access.keep_key(who, client_id, &secret, "first key", Role::Admin).await?;
        Ok(FirstKey { client_id: key.client_id, client_secret: None })
    }

    /// Creates an organization.
    #[boxed]
    pub async fn create_organization(&self, name: &str, environment: &str) -> Result<OrgId, Problem> {
        if !["TEST", "LIVE"].contains(&environment) {
            return Err(Problem::invalid("environment", "must be TEST or LIVE"));
        }
        if name.is_empty() || name.chars().count() > 100 || name.chars().any(char::is_control) {
            return Err(Problem::invalid("name", "must have from 1 to 100 characters"));
        }
        if self.store.organizations().await?.iter().any(|organization| organization.name == name) {
            return Err(Problem::id_taken("name", "organization", name));
        }
        let signing = SigningKey::from_bytes(&random_bytes::<32>());
        let organization = Organization {
            org: 0,
            name: name.to_owned(),
            environment: environment.to_owned(),
            created_at: self.clock.now(),
            signing_key: self.secrets.seal(signing.text().as_bytes())?,
            previous_signing_key: None,
            event_mark: mint_mark(),
        };
        let act = Act::on("create_organization", "organization", name).with("environment", environment);
        let record = self.recorded(&operator(NO_ORGANIZATION, environment), act);
        Ok(self.store.create_organization(&organization, record.as_ref()).await?)
    }

    /// Creates an organization and its first key.
    #[boxed]
    pub async fn create_organization_with_key(&self, name: &str, environment: &str) -> Result<FirstKey, Problem> {
        let org = self.create_organization(name, environment).await?;
        self.first_key(&operator(org, environment), None, None).await
    }

    /// All organizations.
    #[boxed]
    pub async fn organizations(&self) -> Result<Vec<Organization>, Problem> {
        Ok(self.store.organizations().await?)
    }

    /// The operator as a caller for an organization: the named one, or the only one.
    #[boxed]
    pub async fn operator(&self, name: Option<&str>) -> Result<Caller, Problem> {
        let organizations = self.store.organizations().await?;
        let found = match name {
            Some(name) => organizations.iter().find(|organization| organization.name == name),
            None => match organizations.as_slice() {
                [] => {
                    return Err(Problem::new(
                        "not_found",
                        "there is no organization yet; start the server once to create one",
                    ));
                }
                [one] => Some(one),
                _ => return Err(Problem::invalid("org", "is required: there are several organizations")),
            },
        };
        let found = found.ok_or_else(|| Problem::not_found("organization", name.unwrap_or_default()))?;
        Ok(operator(found.org, &found.environment))
    }

    /// The operator as a caller for actions that belong to no organization.
    pub fn operator_of_none(&self) -> Caller {
        operator(NO_ORGANIZATION, "")
    }
}

/// The operator: the person at the command line.
pub(crate) fn operator(org: OrgId, environment: &str) -> Caller {
    Caller {
        org,
        environment: environment.to_owned(),
        role: Role::Admin,
        client_id: "operator".to_owned(),
        only_held: false,
        origin: None,
        is_recorded: false,
    }
}
