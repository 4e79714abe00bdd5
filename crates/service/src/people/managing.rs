//! Managing people: roles, access, sessions and passwords.

use super::{Person, client_id, passwords};
use crate::Service;
use crate::access::{Caller, Right, Role};
use crate::audit::Act;
use crate::boxed;
use crate::ids::{mint_token, token_of};
use crate::problem::Problem;
use crate::secrets::hash;
use daybook_store::people::{Changed, PersonChange, PersonRow};
use std::net::IpAddr;

impl Service {
    /// The people of the caller's organization.
    #[boxed]
    pub async fn list_people(&self, who: &Caller) -> Result<Vec<Person>, Problem> {
        who.may(Right::Administer)?;
        self.store.people(who.org).await?.into_iter().map(Person::of).collect()
    }

    /// Changes a person's role. It applies from their next request.
    #[boxed]
    pub async fn set_role(&self, who: &Caller, person_id: &str, role: Role) -> Result<Person, Problem> {
        self.change_person(who, person_id, &PersonChange::Role(role.name().to_owned())).await
    }

    /// Deactivates a person and ends their sessions.
    #[boxed]
    pub async fn disable_person(&self, who: &Caller, person_id: &str) -> Result<Person, Problem> {
        self.change_person(who, person_id, &PersonChange::Disabled(self.clock.now())).await
    }

    /// Reactivates a person.
    #[boxed]
    pub async fn enable_person(&self, who: &Caller, person_id: &str) -> Result<Person, Problem> {
        self.change_person(who, person_id, &PersonChange::Enabled).await
    }

    async fn change_person(&self, who: &Caller, person_id: &str, change: &PersonChange) -> Result<Person, Problem> {
        who.may(Right::Administer)?;
        let unknown = || Problem::not_found("user", person_id);
        let act = match change {
            PersonChange::Role(role) => Act::on("set_role", "person", person_id).with("role", role.as_str()),
            PersonChange::Disabled(_) => Act::on("disable_person", "person", person_id),
            PersonChange::Enabled => Act::on("enable_person", "person", person_id),
        };
        let record = self.recorded(who, act);
        match self.store.change_person(who.org, person_id, change, an_administrator_remains, record.as_ref()).await? {
            Changed::Yes => {}
            Changed::NotFound => return Err(unknown()),
            Changed::Refused => {
                let message = "this is the last ADMIN; give another user this role first";
                return Err(Problem::new("conflict", message));
            }
        }
        tracing::info!(by = %who.client_id, person = %person_id, ?change, "a user was changed");
        Person::of(self.store.person(who.org, person_id).await?.ok_or_else(unknown)?)
    }

    /// Ends all sessions of a person: their own, or anyone's if the caller is an administrator. Returns how many.
    #[boxed]
    pub async fn end_sessions(&self, who: &Caller, person_id: &str) -> Result<u64, Problem> {
        if who.client_id != client_id(person_id) {
            who.may(Right::Administer)?;
        }
        if self.store.person(who.org, person_id).await?.is_none() {
            return Err(Problem::not_found("user", person_id));
        }
        let record = self.recorded(who, Act::on("end_sessions", "person", person_id));
        Ok(self.store.end_sessions(who.org, person_id, record.as_ref()).await?)
    }

    /// Replaces the password of a person who forgot theirs, and ends their sessions. The new password is returned here
    /// and not stored.
    #[boxed]
    pub async fn reset_password(&self, who: &Caller, person_id: &str) -> Result<String, Problem> {
        let person = self.somebody_else(who, person_id).await?;
        let new = mint_token();
        if !self.replace_password(who, &person, &new).await? {
            return Err(changed_meanwhile());
        }
        Ok(new)
    }

    /// A mark that identifies a person's current password without revealing it. A form that replaces the password
    /// carries it.
    #[boxed]
    pub async fn password_mark(&self, who: &Caller, person_id: &str) -> Result<String, Problem> {
        let person = self.somebody_else(who, person_id).await?;
        Ok(self.mark_of_password(&person))
    }

    fn mark_of_password(&self, person: &PersonRow) -> String {
        self.secrets.console_mark("password", person.password_hash.as_bytes())
    }

    /// Replaces a password for a form with a one-time word (`once`), if the current password still has this mark. If
    /// the form is sent twice, it sets one password and returns it again: the password is derived from the word.
    #[boxed]
    pub async fn reset_password_once(
        &self,
        who: &Caller,
        person_id: &str,
        once: &str,
        mark: &str,
    ) -> Result<String, Problem> {
        let person = self.somebody_else(who, person_id).await?;
        if once.is_empty() {
            return Err(Problem::invalid("once", "must be the one-time value of the form"));
        }
        let words = self.words_of(who, once, &[person_id]);
        let new = token_of(&self.secrets.console_hash("password by a form", &words));
        if self.mark_of_password(&person) == mark && self.replace_password(who, &person, &new).await? {
            return Ok(new);
        }
        // The password changed since, possibly by this form itself.
        let person = self.somebody_else(who, person_id).await?;
        if self.passwords.is_right(&new, Some(&person.password_hash)).await? {
            return Ok(new);
        }
        Err(changed_meanwhile())
    }

    /// A person whose password the caller may replace. To replace their own, callers must know it; that is a different
    /// operation.
    async fn somebody_else(&self, who: &Caller, person_id: &str) -> Result<PersonRow, Problem> {
        who.may(Right::Administer)?;
        if who.client_id == client_id(person_id) {
            let message = "change your own password on your own page, where you enter your current one";
            return Err(Problem::new("conflict", message));
        }
        let person = self.store.person(who.org, person_id).await?;
        person.ok_or_else(|| Problem::not_found("user", person_id))
    }

    /// Replaces a person's password and ends their sessions. Returns false if the password changed in the meantime.
    async fn replace_password(&self, who: &Caller, person: &PersonRow, new: &str) -> Result<bool, Problem> {
        let hashed = self.passwords.hash(new).await?;
        // The hash of a token that no session has, so that no session is kept.
        let none = hash(mint_token().as_bytes());
        let record = self.recorded(who, Act::on("reset_password", "person", &person.person));
        let (id, old, record) = (&person.person, &person.password_hash, record.as_ref());
        let done = self.store.change_password(id, old, &hashed, &none, record).await?;
        if done {
            tracing::info!(by = %who.client_id, person = %person.person, "a password was reset");
        }
        Ok(done)
    }

    /// Changes the password of a session's person, if they know the old one, and ends their other sessions. `from` is
    /// their address, if known.
    #[boxed]
    pub async fn change_password(
        &self,
        token: &str,
        old: &str,
        new: &str,
        from: Option<IpAddr>,
    ) -> Result<(), Problem> {
        let token_hash = hash(token.as_bytes());
        let found = self.store.session(&token_hash, self.clock.now()).await?;
        let (_, person) =
            found.ok_or_else(|| Problem::new("unauthenticated", "the session has ended: sign in again"))?;
        passwords::check(new).map_err(|rule| Problem::invalid("new_password", rule))?;
        let begun = self.begin_try(&person.email_key, None).await?;
        if !self.passwords.is_right(old, Some(&person.password_hash)).await? {
            return Err(Problem::invalid("old_password", "is wrong"));
        }
        self.end_try(begun).await?;
        let hashed = self.passwords.hash(new).await?;
        let act = Act::on("change_password", "person", &person.person);
        let record = self.recorded_of(&person, Some(&token_hash), from, act);
        let (id, old) = (&person.person, &person.password_hash);
        if !self.store.change_password(id, old, &hashed, &token_hash, Some(&record)).await? {
            return Err(changed_meanwhile());
        }
        tracing::info!(person = %person.person, "a password was changed");
        Ok(())
    }
}

/// The last active administrator of an organization stays one. If an organization has none, its users can be changed
/// nevertheless.
fn an_administrator_remains(before: &[PersonRow], after: &[PersonRow]) -> bool {
    let has_one = |people: &[PersonRow]| {
        people.iter().any(|person| person.role == Role::Admin.name() && person.disabled_at.is_none())
    };
    has_one(after) || !has_one(before)
}

fn changed_meanwhile() -> Problem {
    Problem::new("conflict", "the password was changed after this form was opened; open the form again")
}

#[cfg(test)]
mod tests {
    use super::*;
    use daybook_engine::time::Time;

    fn person(role: Role, disabled_at: Option<Time>) -> PersonRow {
        PersonRow {
            org: 1,
            person: "ana".into(),
            name: "Ana".into(),
            email: "ana@lender.example".into(),
            email_key: "ana@lender.example".into(),
            password_hash: String::new(),
            role: role.name().into(),
            created_at: Time::from_micros(1),
            last_seen_at: None,
            disabled_at,
        }
    }

    #[test]
    fn the_last_active_administrator_stays() {
        let admin = || person(Role::Admin, None);
        let disabled = || person(Role::Admin, Some(Time::from_micros(2)));
        let reader = || person(Role::ReadOnly, None);
        let allowed = an_administrator_remains;
        assert!(!allowed(&[admin(), reader()], &[reader(), reader()]));
        assert!(!allowed(&[admin(), disabled()], &[disabled(), disabled()]), "a deactivated one does not count");
        assert!(allowed(&[admin(), admin()], &[reader(), admin()]));
        assert!(allowed(&[admin(), reader()], &[admin(), disabled()]));
        assert!(allowed(&[reader(), reader()], &[reader(), disabled()]), "there was none before");
    }
}
