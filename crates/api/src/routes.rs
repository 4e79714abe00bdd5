//! Every route. A handler's name is its operation id, and its description for the reference is next to it.

use crate::handlers::{
    accounts, audit, auth, bulk, customers, docs, health, keys, line_items, loan_changes, messages, notifications,
    products, rolling, webhooks,
};
use crate::{Api, error, limits};
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use tower_http::catch_panic::CatchPanicLayer;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouterExt as _};
use utoipa_axum::routes;

/// The routes that the reference describes.
pub(crate) fn described(bulk_limit_bytes: usize) -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .routes(routes!(auth::create_token))
        .routes(routes!(products::create_product, products::list_products))
        .routes(routes!(products::get_product))
        .routes(routes!(products::set_migration_mode, products::get_migration_mode))
        .routes(routes!(customers::create_customer, customers::list_customers))
        .routes(routes!(customers::get_customer, customers::update_customer))
        .routes(routes!(accounts::create_account, accounts::list_accounts))
        .routes(routes!(accounts::get_account))
        .routes(routes!(accounts::set_account_status))
        .routes(routes!(accounts::get_amortization_schedule))
        .routes(routes!(accounts::list_account_events))
        .routes(routes!(accounts::list_account_status_changes))
        .routes(routes!(notifications::set_notification_config, notifications::get_notification_config))
        .routes(routes!(line_items::list_line_items))
        .routes(routes!(line_items::get_line_item, line_items::change_line_item, line_items::withdraw_line_item))
        .routes(routes!(line_items::record_payment))
        .routes(routes!(line_items::reverse_payment))
        .routes(routes!(line_items::charge_manual_fee))
        .routes(routes!(line_items::waive_fee))
        .routes(routes!(line_items::credit_offset))
        .routes(routes!(line_items::debit_offset))
        .routes(routes!(line_items::refund_surplus))
        .routes(routes!(line_items::reverse_refund))
        .routes(routes!(
            loan_changes::list_interest_rates,
            loan_changes::create_interest_rate,
            loan_changes::replace_interest_rate
        ))
        .routes(routes!(loan_changes::list_temp_promos, loan_changes::create_temp_promo))
        .routes(routes!(loan_changes::create_interest_pause))
        .routes(routes!(loan_changes::change_due_date))
        .routes(routes!(loan_changes::skip_installments))
        .routes(routes!(loan_changes::extend_term))
        .routes(routes!(loan_changes::defer_payments))
        .routes(routes!(loan_changes::defer_installments))
        .routes(routes!(loan_changes::re_amortize))
        .routes(routes!(loan_changes::re_age))
        .routes(routes!(loan_changes::restructure))
        .routes(routes!(loan_changes::capitalize))
        .routes(routes!(loan_changes::list_changes))
        .routes(routes!(loan_changes::get_change, loan_changes::withdraw_change))
        .routes(routes!(loan_changes::cancel_change))
        .routes(routes!(bulk::bulk).layer(DefaultBodyLimit::max(bulk_limit_bytes)))
        .routes(routes!(rolling::roll_account, rolling::roll_account_by_post))
        .routes(routes!(keys::list_keys, keys::create_key))
        .routes(routes!(keys::revoke_key))
        .routes(routes!(audit::list_audit_records))
        .routes(routes!(webhooks::subscribe, webhooks::subscribe_by_post))
        .routes(routes!(webhooks::list_subscriptions))
        .routes(routes!(webhooks::delete_subscription))
        .routes(routes!(webhooks::unsubscribe, webhooks::unsubscribe_by_post))
        .routes(routes!(webhooks::resubscribe, webhooks::resubscribe_by_post))
        .routes(routes!(webhooks::replay_failed_events))
        .routes(routes!(webhooks::send_test_event))
        .routes(routes!(webhooks::get_hmac_key))
        .routes(routes!(webhooks::rotate_hmac_key))
        .routes(routes!(webhooks::list_event_types))
        .routes(routes!(webhooks::list_deliveries))
        .routes(routes!(webhooks::list_dead_letters))
        .routes(routes!(messages::list_messages))
        .routes(routes!(messages::get_message))
        .routes(routes!(messages::resend_message))
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
        .routes(routes!(health::metrics))
}

/// The complete router.
pub(crate) fn serve(api: Api) -> Router {
    let (described, _) = described(api.settings.bulk_limit_bytes).split_for_parts();
    described
        .route("/", get(async || axum::response::Redirect::to("/console")))
        .route("/openapi.json", get(docs::openapi_json))
        .route("/docs", get(docs::reference))
        .route("/docs/style.css", get(docs::style))
        .route("/docs/{section}", get(docs::section))
        .route("/docs/{section}/{page}", get(docs::page))
        .fallback(error::no_such_path)
        .method_not_allowed_fallback(error::no_such_method)
        .layer(DefaultBodyLimit::max(api.settings.body_limit_bytes))
        .layer(CatchPanicLayer::custom(error::panicked))
        .layer(from_fn_with_state(api.clone(), limits::around))
        .with_state(api)
}
