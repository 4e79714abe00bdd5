//! The contract that every dialect of the store must fulfil, as tests.
//!
//! Each test is an `async fn name(store: Arc<dyn Store>)` in the module of its topic and gets its own empty database.
//! `contract_tests!` holds the only list of them. A dialect's test file defines how to run one:
//!
//! ```text
//! mod contract;
//!
//! fn on_my_database<F, T>(test: F)              // opens an empty database, runs the test to its end, cleans up
//! where
//!     F: FnOnce(Arc<dyn Store>) -> T,
//!     T: Future<Output = ()>,
//! { … }
//!
//! contract::contract_tests!(crate::on_my_database);   // makes `mod keys { #[test] fn …() … }` and so on
//! ```
//!
//! A dialect with several kinds of databases calls the macro once in a module for each.

pub mod accounts;
pub mod answers;
pub mod audit;
pub mod concurrency;
pub mod customers;
pub mod due;
pub mod fixtures;
pub mod inputs;
pub mod isolation;
pub mod items;
pub mod keys;
pub mod messages;
pub mod monitoring;
pub mod outbox;
pub mod paging;
pub mod people;
pub mod portfolio_queries;
pub mod products;
pub mod units;

pub use outbox::{
    console_url, dead_letters, feeding, recording, replaying, retention, sending_again, shared_rows, subscriptions,
};

/// Makes a `#[test]` of every contract test, run by the function at the given path.
macro_rules! contract_tests {
    ($run:path) => {
        $crate::contract::contract_tests! { @each $run;
            keys: [
                settings_are_kept_once,
                settings_are_put_and_removed,
                organizations_are_numbered,
                an_organization_name_is_unique,
                a_key_is_found_by_id_and_by_secret,
                a_client_id_is_taken_once,
                a_key_is_revoked_once,
                last_use_never_moves_back,
            ]
            products: [
                a_product_is_read_back,
                a_product_is_made_once,
                a_mode_follows_the_one_before,
                a_unit_under_another_mode_is_stale,
                a_unit_of_an_unknown_product_is_stale,
                modes_are_those_before_the_batch,
                releasing_products_are_listed,
                held_counts_tell_failed_from_waiting,
                failed_accounts_are_listed_by_id,
            ]
            customers: [
                a_customer_is_read_back,
                a_customer_is_made_once,
                a_customer_follows_its_version,
                existence_is_answered_in_order,
                accounts_of_a_customer_follow_the_accounts_list,
            ]
            accounts: [
                an_account_is_read_back_whole,
                an_account_with_nothing_optional_is_read_back,
                an_account_is_made_once,
                an_update_writes_all_that_changes,
                an_update_of_another_version_is_stale,
                an_update_of_a_missing_account_is_stale,
                accounts_load_in_the_order_asked,
            ]
            inputs: [
                all_inputs_come_by_seq,
                pending_inputs_are_held_or_scheduled,
                before_the_first_fold_all_inputs_are_pending,
                named_inputs_come_once,
                removed_inputs_free_their_name,
                a_taken_name_drops_the_unit,
                a_taken_number_drops_the_unit,
            ]
            items: [
                items_are_read_back_by_id,
                an_item_made_anew_keeps_its_creation,
                a_change_touches_only_what_it_says,
                a_void_wipes_amounts_but_the_whole,
                items_are_picked_by_id,
            ]
            messages: [
                a_message_is_read_back_whole,
                positions_follow_units_and_order,
                each_organization_counts_its_own_positions,
                the_log_is_read_in_parts,
                due_messages_wait_for_their_moment,
                waiting_messages_are_published_oldest_first,
                cancelled_messages_stay_and_are_never_published,
                publishing_is_limited,
                a_unit_publishes_before_it_announces,
                a_unit_publishes_only_its_own_account,
                messages_of_an_account_show_log_and_waiting,
            ]
            answers: [
                an_answer_is_kept_until_it_expires,
                a_taken_key_makes_a_unit_stale,
                an_expired_key_is_free,
                a_stale_unit_gives_its_key_back,
                expired_answers_are_removed_in_steps,
            ]
            due: [
                due_accounts_are_found,
                holding_products_are_never_due,
                due_accounts_are_counted,
                products_share_the_limit,
                what_one_product_leaves_goes_to_others,
                many_products_take_turns_by_age,
                the_next_moment_is_after_now,
                failed_accounts_are_due_again_when_retried,
                a_retry_makes_work_under_way_stale,
            ]
            paging: [
                pages_of_products,
                pages_of_customers,
                pages_of_accounts,
                accounts_by_product_and_status,
                lists_of_many_accounts,
            ]
            units: [
                units_stand_or_fall_by_themselves,
                a_stale_unit_leaves_nothing,
                a_unit_with_two_accounts_is_all_or_nothing,
                a_unit_with_customer_and_accounts_is_all_or_nothing,
                an_empty_batch_is_fine,
                a_large_batch_is_written,
            ]
            isolation: [
                the_same_ids_live_in_two_organizations,
                an_unknown_organization_has_nothing,
            ]
            subscriptions: [
                a_subscription_begins_at_the_head,
                subscriptions_are_listed_by_time_of_making,
                the_same_url_replaces_the_filter_only,
                a_pause_is_kept_once,
                a_pause_by_a_person_replaces_another,
                resuming_makes_the_pause_a_range,
                resuming_forgets_the_count_of_failures,
                a_pause_makes_retries_and_replays_dead,
                backlogs_count_what_each_gets,
                removing_a_subscription_removes_what_waits,
                another_organization_sees_nothing_of_it,
                a_hurry_marks_the_log,
                a_hurry_takes_along_what_is_published,
                a_new_signing_key_keeps_the_old_one_for_a_while,
            ]
            console_url: [
                the_console_has_one_record,
                the_console_takes_over_what_the_api_made,
                there_is_room_for_so_many,
                many_at_once_keep_to_it,
            ]
            sending_again: [
                a_message_is_found_by_its_event,
                a_message_stands_somewhere_with_each,
                a_message_is_sent_again,
                one_message_of_a_range_is_sent_again,
            ]
            feeding: [
                a_message_is_fed_whole,
                the_feed_is_read_in_parts,
                a_filter_is_fed_in_order_of_positions,
                two_events_are_special,
            ]
            recording: [
                active_subscriptions_are_leased,
                what_is_recorded_by_another_token_is_lost,
                the_cursor_never_goes_back,
                counts_are_kept_for_the_version_that_was_read,
                failures_are_written_over_and_removed,
                failures_come_the_longest_due_first,
                while_paused_retries_are_dead,
                a_pause_is_announced_with_it,
                ranges_move_on_and_end,
                attempts_are_listed_the_latest_first,
                a_thousand_attempts_are_recorded_at_once,
                what_was_under_way_is_in_no_range,
                a_range_that_is_recorded_is_not_cut,
            ]
            dead_letters: [
                dead_letters_come_from_everywhere,
                dead_letters_are_paged,
                dead_letters_are_filtered,
                the_moment_of_death_lies_between_the_pause_and_now,
            ]
            replaying: [
                everything_is_replayed,
                one_subscription_is_replayed,
                one_event_is_replayed,
                one_event_of_a_filter_is_replayed,
                a_stretch_of_time_is_replayed,
                what_is_about_an_account_is_replayed,
                paused_subscriptions_are_left,
            ]
            retention: [
                dead_letters_expire,
                ranges_expire_from_their_beginning,
                what_is_replayed_does_not_expire,
                the_cursor_of_a_paused_subscription_moves_over_what_expires,
                dead_letters_expire_in_steps,
                attempts_expire_the_oldest_first,
                messages_expire_from_the_beginning_of_each_log,
                messages_stay_while_they_are_needed,
            ]
            shared_rows: [
                the_log_is_the_same,
                messages_by_cause_are_the_same,
                feeds_are_the_same,
                searches_are_the_same,
                deliveries_are_the_same,
                rows_expire_with_their_last_message,
                a_step_that_leaves_expired_messages_is_full,
                logs_end_before_those_of_others,
                one_message_of_a_row_is_corrected,
            ]
            people: [
                a_person_is_read_back,
                an_address_belongs_to_one_person,
                the_last_with_a_role_keeps_it,
                two_do_not_both_lose_the_role,
                an_invitation_is_accepted_once,
                of_many_at_once_one_is_accepted,
                a_session_is_its_person_until_it_expires,
                a_session_begins_for_who_may_come_in,
                sessions_end,
                another_password_ends_the_other_sessions,
                guesses_are_kept_as_they_were_read,
                what_expired_is_removed_in_steps,
            ]
            portfolio_queries: [
                accounts_are_counted_and_summed_by_status,
                late_accounts_are_counted_by_where_they_stand,
                accounts_are_found_by_when_they_fell_due,
                accounts_are_found_by_status_and_reason,
                things_are_found_by_all_words,
                words_follow_what_they_belong_to,
                items_are_summed_between_moments,
                attempts_are_counted_by_the_hour,
                what_needs_attention_is_counted,
            ]
            monitoring: [
                the_oldest_moment_that_is_due_is_told,
                messages_whose_moment_has_come_are_told,
                failed_accounts_are_counted_up_to_a_limit,
                releases_under_way_are_summed,
                room_and_schema_are_told,
                urls_tell_why_they_are_paused,
            ]
            audit: [
                every_search_finds_what_fits,
                a_search_without_an_index_examines_so_many_records,
                a_search_for_one_object_reaches_all_its_records,
            ]
            concurrency: [
                one_account_is_written_once_a_version,
                positions_have_no_gaps_under_load,
                one_idempotency_key_is_taken_once,
            ]
        }
    };
    (@each $run:path; $($topic:ident: [$($name:ident),* $(,)?])*) => {
        $(mod $topic {
            $(#[test]
            fn $name() {
                $run($crate::contract::$topic::$name);
            })*
        })*
    };
}
pub(crate) use contract_tests;
