//! Links by which people come in, and the first person of all.

use super::{Invitation, NewPerson, Session, check, email_key, role};
use crate::Service;
use crate::access::{Caller, Right, Role};
use crate::ids::{mint_id, mint_token};
use crate::problem::{Detail, Problem};
use crate::secrets::hash;
use crate::view::time::Utc;
use daybook_store::people::{Accepted, InvitationRow, PersonRow};
use daybook_store::records::OrgId;

/// How long a link can be used.
pub const LINK_MICROS: i64 = 7 * 24 * 3_600 * 1_000_000;
/// The most people of an organization.
pub const MOST_PEOPLE: usize = 1_000;
/// The most links of an organization that wait for somebody.
pub const MOST_LINKS: usize = 100;

impl Service {
    /// The token of a link for the first person, if the first organization has neither people nor a link that waits.
    pub async fn first_link(&self) -> Result<Option<String>, Problem> {
        let Some(org) = self.org_without_people().await? else { return Ok(None) };
        if !self.store.invitations(org, self.clock.now()).await?.is_empty() {
            return Ok(None);
        }
        self.new_link(org, Role::Admin, "first start").await.map(Some)
    }

    /// Makes the first person, if the first organization has none; gives whether it did.
    pub async fn first_person(&self, email: &str, password: &str) -> Result<bool, Problem> {
        let Some(org) = self.org_without_people().await? else { return Ok(false) };
        let name = email.split('@').next().unwrap_or(email).to_owned();
        let new = NewPerson { name, email: email.to_owned(), password: password.to_owned() };
        check(&new)?;
        let person = self.new_person(org, Role::Admin, &new).await?;
        Ok(self.store.create_person(&person).await?)
    }

    async fn org_without_people(&self) -> Result<Option<OrgId>, Problem> {
        let Some(first) = self.store.organizations().await?.into_iter().next() else { return Ok(None) };
        Ok(self.store.people(first.org).await?.is_empty().then_some(first.org))
    }

    /// Makes a link by which somebody joins the caller's organization, once. Its token is given here, and kept nowhere.
    pub async fn invite(&self, who: &Caller, role: Role) -> Result<String, Problem> {
        who.may(Right::Administer)?;
        if self.store.people(who.org).await?.len() >= MOST_PEOPLE {
            return Err(Problem::new("conflict", format!("an organization has {MOST_PEOPLE} people at most")));
        }
        if self.store.invitations(who.org, self.clock.now()).await?.len() >= MOST_LINKS {
            let message = format!("{MOST_LINKS} links wait for somebody already: use one of them, or let them expire");
            return Err(Problem::new("conflict", message));
        }
        let token = self.new_link(who.org, role, &who.client_id).await?;
        tracing::info!(by = %who.client_id, role = role.name(), "somebody was invited");
        Ok(token)
    }

    async fn new_link(&self, org: OrgId, role: Role, by: &str) -> Result<String, Problem> {
        let token = mint_token();
        let now = self.clock.now();
        let invitation = InvitationRow {
            token_hash: hash(token.as_bytes()),
            org,
            role: role.name().to_owned(),
            created_by: by.to_owned(),
            created_at: now,
            expires_at: now.plus_micros(LINK_MICROS),
        };
        self.store.invite(&invitation).await?;
        Ok(token)
    }

    /// What a link is good for.
    pub async fn invitation(&self, token: &str) -> Result<Invitation, Problem> {
        let row = self.open_link(token).await?;
        let organization = self.catalog.organization(row.org).await?.row.name.clone();
        Ok(Invitation { organization, role: role(&row.role)?, expires_at: Utc(row.expires_at) })
    }

    async fn open_link(&self, token: &str) -> Result<InvitationRow, Problem> {
        let found = self.store.invitation(&hash(token.as_bytes()), self.clock.now()).await?;
        found.ok_or_else(used_up)
    }

    /// Makes a person by a link, which cannot be used again, and lets them in.
    pub async fn accept(&self, token: &str, new: NewPerson) -> Result<Session, Problem> {
        let link = self.open_link(token).await?;
        check(&new)?;
        let person = self.new_person(link.org, role(&link.role)?, &new).await?;
        match self.store.accept(&link.token_hash, self.clock.now(), &person).await? {
            Accepted::Yes => {}
            Accepted::NoInvitation => return Err(used_up()),
            Accepted::EmailTaken => return Err(email_taken()),
        }
        tracing::info!(person = %person.person, role = %person.role, "somebody came by a link");
        self.begin_session(&person).await?.ok_or_else(used_up)
    }

    async fn new_person(&self, org: OrgId, role: Role, new: &NewPerson) -> Result<PersonRow, Problem> {
        Ok(PersonRow {
            org,
            person: mint_id("person"),
            name: new.name.trim().to_owned(),
            email: new.email.trim().to_owned(),
            email_key: email_key(&new.email),
            password_hash: self.passwords.hash(&new.password).await?,
            role: role.name().to_owned(),
            created_at: self.clock.now(),
            last_seen_at: None,
            disabled_at: None,
        })
    }
}

fn used_up() -> Problem {
    Problem::new("not_found", "this link was used, has expired or never was one: ask for another")
}

fn email_taken() -> Problem {
    let detail = Detail { field: "email".to_owned(), message: "belongs to somebody already".to_owned() };
    Problem { details: vec![detail], ..Problem::new("id_taken", "the e-mail address belongs to somebody already") }
}
