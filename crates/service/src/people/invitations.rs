//! Invitation links, and the first person of an installation.

use super::{Invitation, Link, NewPerson, Session, check, email_key, role};
use crate::Service;
use crate::access::{Caller, PERSON_PREFIX, Right, Role};
use crate::audit::Act;
use crate::boxed;
use crate::ids::{mint_id, mint_token, token_of};
use crate::organizations::operator;
use crate::problem::{Detail, Problem};
use crate::processor::job::IdempotencyKey;
use crate::secrets::hash;
use crate::view::time::Utc;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use daybook_store::batch::Unit;
use daybook_store::people::{Accepted, InvitationRow, PersonRow};
use daybook_store::records::OrgId;
use std::net::IpAddr;

/// How long a link is valid.
pub const LINK_MICROS: i64 = 7 * 24 * 3_600 * 1_000_000;
/// The maximum number of people in an organization.
pub const MOST_PEOPLE: usize = 1_000;
/// The maximum number of pending links of an organization.
pub const MOST_LINKS: usize = 100;

impl Service {
    /// The token of a link for the first person, if the first organization has neither people nor a pending link.
    #[boxed]
    pub async fn first_link(&self) -> Result<Option<String>, Problem> {
        let Some(org) = self.org_without_people().await? else { return Ok(None) };
        if !self.store.invitations(org, self.clock.now()).await?.is_empty() {
            return Ok(None);
        }
        let token = mint_token();
        self.keep_link(&Caller { client_id: "first start".to_owned(), ..operator(org, "") }, &token, Role::Admin)
            .await?;
        Ok(Some(token))
    }

    /// Creates the first person, if the first organization has none. Returns whether it did.
    #[boxed]
    pub async fn first_person(&self, email: &str, password: &str) -> Result<bool, Problem> {
        let Some(org) = self.org_without_people().await? else { return Ok(false) };
        let name = email.split('@').next().unwrap_or(email).to_owned();
        let new = NewPerson { name, email: email.to_owned(), password: password.to_owned() };
        check(&new)?;
        let person = self.new_person(org, Role::Admin, &new).await?;
        let act = Act::on("create_person", "person", &person.person).with("role", Role::Admin.name());
        let record = self.recorded(&operator(org, ""), act);
        Ok(self.store.create_person(&person, record.as_ref()).await?)
    }

    async fn org_without_people(&self) -> Result<Option<OrgId>, Problem> {
        let Some(first) = self.store.organizations().await?.into_iter().next() else { return Ok(None) };
        Ok(self.store.people(first.org).await?.is_empty().then_some(first.org))
    }

    /// Creates a link with which one person can join the caller's organization. Its token is returned here and not
    /// stored.
    #[boxed]
    pub async fn invite(&self, who: &Caller, role: Role) -> Result<String, Problem> {
        self.may_invite(who).await?;
        let token = mint_token();
        self.keep_link(who, &token, role).await?;
        tracing::info!(by = %who.client_id, role = role.name(), "a user was invited");
        Ok(token)
    }

    /// Creates a link for a form with a one-time word (`once`): if the form is sent twice, it creates one link and
    /// returns it again. The token is derived from the word, so it is not stored.
    #[boxed]
    pub async fn invite_once(&self, who: &Caller, once: &str, role: Role) -> Result<String, Problem> {
        who.may(Right::Administer)?;
        let words = self.words_of(who, once, &[role.name()]);
        let token = token_of(&self.secrets.console_hash("link by a form", &words));
        let idempotency_key =
            IdempotencyKey { key: format!("link:{}", token_of(&hash(&words))), content_hash: hash(b"link") };
        if self.answer_before(who, Some(&idempotency_key)).await?.is_some() {
            let gone = |_| {
                Problem::new("conflict", "the invite that this form created is no longer valid; submit the form again")
            };
            return self.open_link(&token).await.map(|_| token).map_err(gone);
        }
        self.may_invite(who).await?;
        // Only the request that stores the response creates the link, so two concurrent requests create one.
        if self.write_alone(who, Unit::default(), Some(idempotency_key), &Bytes::from_static(b"{}")).await? {
            self.keep_link(who, &token, role).await?;
            tracing::info!(by = %who.client_id, role = role.name(), "a user was invited");
        }
        Ok(token)
    }

    async fn may_invite(&self, who: &Caller) -> Result<(), Problem> {
        who.may(Right::Administer)?;
        if self.store.people(who.org).await?.len() >= MOST_PEOPLE {
            return Err(Problem::new("conflict", format!("an organization has at most {MOST_PEOPLE} users")));
        }
        if self.store.invitations(who.org, self.clock.now()).await?.len() >= MOST_LINKS {
            let message = format!("{MOST_LINKS} invites are already pending; use or withdraw one of them first");
            return Err(Problem::new("conflict", message));
        }
        Ok(())
    }

    async fn keep_link(&self, who: &Caller, token: &str, role: Role) -> Result<(), Problem> {
        let now = self.clock.now();
        let invitation = InvitationRow {
            token_hash: hash(token.as_bytes()),
            org: who.org,
            role: role.name().to_owned(),
            created_by: who.client_id.clone(),
            created_at: now,
            expires_at: now.plus_micros(LINK_MICROS),
        };
        let link_id = URL_SAFE_NO_PAD.encode(&invitation.token_hash);
        let record = self.recorded(who, Act::on("invite", "invitation", &link_id).with("role", role.name()));
        Ok(self.store.invite(&invitation, record.as_ref()).await?)
    }

    /// The pending links of the caller's organization.
    #[boxed]
    pub async fn list_links(&self, who: &Caller) -> Result<Vec<Link>, Problem> {
        who.may(Right::Administer)?;
        let people = self.store.people(who.org).await?;
        let show = |row: InvitationRow| {
            let maker = row.created_by.strip_prefix(PERSON_PREFIX);
            let maker = maker.map(|id| people.iter().find(|person| person.person == id));
            Ok(Link {
                link_id: URL_SAFE_NO_PAD.encode(&row.token_hash),
                role: role(&row.role)?,
                made_by: maker.flatten().map_or(row.created_by, |person| person.name.clone()),
                works: maker.is_none_or(|maker| maker.is_some_and(may_make_links)),
                created_at: Utc(row.created_at),
                expires_at: Utc(row.expires_at),
            })
        };
        self.store.invitations(who.org, self.clock.now()).await?.into_iter().map(show).collect()
    }

    /// Withdraws a link, which then no longer works.
    #[boxed]
    pub async fn withdraw_link(&self, who: &Caller, link_id: &str) -> Result<(), Problem> {
        who.may(Right::Administer)?;
        let unknown = || Problem::new("not_found", "this invite was already used or withdrawn, or has expired");
        let token_hash = URL_SAFE_NO_PAD.decode(link_id).map_err(|_| unknown())?;
        let record = self.recorded(who, Act::on("withdraw_invitation", "invitation", link_id));
        if !self.store.withdraw(who.org, &token_hash, record.as_ref()).await? {
            return Err(unknown());
        }
        tracing::info!(by = %who.client_id, "an invite was withdrawn");
        Ok(())
    }

    /// The organization and role that a link gives access to.
    #[boxed]
    pub async fn invitation(&self, token: &str) -> Result<Invitation, Problem> {
        let row = self.open_link(token).await?;
        let organization = self.catalog.organization(row.org).await?.row.name.clone();
        Ok(Invitation { organization, role: role(&row.role)?, expires_at: Utc(row.expires_at) })
    }

    async fn open_link(&self, token: &str) -> Result<InvitationRow, Problem> {
        let found = self.store.invitation(&hash(token.as_bytes()), self.clock.now()).await?;
        let link = found.ok_or_else(used_up)?;
        // Links of a person who may no longer create links do not work. Links from the command line belong to no
        // person.
        if let Some(maker) = link.created_by.strip_prefix(PERSON_PREFIX) {
            let maker = self.store.person(link.org, maker).await?;
            maker.as_ref().filter(|maker| may_make_links(maker)).ok_or_else(used_up)?;
        }
        Ok(link)
    }

    /// Creates a person from a link, which cannot be used again, and signs them in. `from` is their address, if known.
    #[boxed]
    pub async fn accept(&self, token: &str, new: NewPerson, from: Option<IpAddr>) -> Result<Session, Problem> {
        let link = self.open_link(token).await?;
        check(&new)?;
        let person = self.new_person(link.org, role(&link.role)?, &new).await?;
        let link_id = URL_SAFE_NO_PAD.encode(&link.token_hash);
        let act = Act::on("accept_invitation", "person", &person.person).with("invitation", link_id);
        let record = self.recorded_of(&person, None, from, act);
        match self.store.accept(&link.token_hash, self.clock.now(), &person, Some(&record)).await? {
            Accepted::Yes => {}
            Accepted::NoInvitation => return Err(used_up()),
            Accepted::EmailTaken => return Err(email_taken()),
        }
        tracing::info!(person = %person.person, role = %person.role, "a user joined by an invite");
        // The record of the acceptance covers the sign-in too.
        self.begin_session(&person, |_| None).await?.ok_or_else(used_up)
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

fn may_make_links(maker: &PersonRow) -> bool {
    maker.disabled_at.is_none() && maker.role == Role::Admin.name()
}

fn used_up() -> Problem {
    Problem::new(
        "not_found",
        "this invite link is not valid: it was used or withdrawn, has expired or never existed, or the person who \
         created it is no longer an administrator. Ask an administrator for another",
    )
}

fn email_taken() -> Problem {
    let detail = Detail { field: "email".to_owned(), message: "belongs to another user".to_owned() };
    Problem { details: vec![detail], ..Problem::new("id_taken", "the e-mail address belongs to another user") }
}
