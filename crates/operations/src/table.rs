//! The table: for each path the methods, and for each the operation, its id, the right that it needs, whether a line of
//! `/bulk` may request it, and the form in its body.
//!
//! A test of the API holds it equal to `openapi.json`, which is generated from the handlers.

use crate::Right;

/// Makes the enum and its functions of the table's rows.
macro_rules! table {
    ($($path:literal { $($method:ident $name:ident $id:ident $right:ident $bulk:ident $form:tt;)* })*) => {
        /// An operation of the API.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Operation {
            $($(#[doc = concat!("`", stringify!($method), " ", $path, "`")] $name,)*)*
        }

        impl Operation {
            /// All operations.
            pub const ALL: &[Operation] = &[$($(Operation::$name,)*)*];

            /// The id in the API's description, which is the name of the handler.
            pub const fn id(self) -> &'static str {
                match self { $($(Operation::$name => stringify!($id),)*)* }
            }

            /// The method.
            pub const fn method(self) -> &'static str {
                match self { $($(Operation::$name => stringify!($method),)*)* }
            }

            /// The path. A part in braces stands for an id.
            pub const fn path(self) -> &'static str {
                match self { $($(Operation::$name => $path,)*)* }
            }

            /// The right that it needs; `None` if it needs no key.
            pub const fn right(self) -> Option<Right> {
                match self { $($(Operation::$name => table!(@right $right),)*)* }
            }

            /// Whether a line of `/bulk` may request it.
            pub const fn is_in_bulk(self) -> bool {
                match self { $($(Operation::$name => table!(@bulk $bulk),)*)* }
            }

            /// The name of the JSON form in its body; `None` if it has no such body.
            pub const fn form(self) -> Option<&'static str> {
                match self { $($(Operation::$name => table!(@form $form),)*)* }
            }
        }
    };
    (@right public) => { None };
    (@right $right:ident) => { Some(Right::$right) };
    (@bulk bulk) => { true };
    (@bulk single) => { false };
    (@form -) => { None };
    (@form $form:ident) => { Some(stringify!($form)) };
}

table! {
    "/auth/token" {
        POST   CreateToken              create_token                public     single TokenRequest;
    }
    "/products" {
        POST   CreateProduct            create_product              Write      single NewProduct;
        GET    ListProducts             list_products               Read       single -;
    }
    "/products/{product_id}" {
        GET    GetProduct               get_product                 Read       single -;
    }
    "/products/{product_id}/migration_mode" {
        PUT    SetMigrationMode         set_migration_mode          Write      single SetMigrationMode;
        GET    GetMigrationMode         get_migration_mode          Read       single -;
    }
    "/customers" {
        POST   CreateCustomer           create_customer             Write      bulk   NewCustomer;
        GET    ListCustomers            list_customers              Read       single -;
    }
    "/customers/{customer_id}" {
        GET    GetCustomer              get_customer                Read       single -;
        PUT    UpdateCustomer           update_customer             Write      single CustomerUpdate;
    }
    "/accounts" {
        POST   CreateAccount            create_account              Write      bulk   NewAccount;
        GET    ListAccounts             list_accounts               Read       single -;
    }
    "/accounts/{account_id}" {
        GET    GetAccount               get_account                 Read       single -;
    }
    "/accounts/{account_id}/status" {
        PUT    SetAccountStatus         set_account_status          Write      bulk   SetStatus;
    }
    "/accounts/{account_id}/amortization_schedule" {
        GET    GetAmortizationSchedule  get_amortization_schedule   Read       single -;
    }
    "/accounts/{account_id}/events" {
        GET    ListAccountEvents        list_account_events         Read       single -;
    }
    "/accounts/{account_id}/audit_trails/account_status_changes" {
        GET    ListAccountStatusChanges list_account_status_changes Read       single -;
    }
    "/accounts/{account_id}/notification_config" {
        PUT    SetNotificationConfig    set_notification_config     Write      bulk   NotificationConfig;
        GET    GetNotificationConfig    get_notification_config     Read       single -;
    }
    "/accounts/{account_id}/interest_rates" {
        GET    ListInterestRates        list_interest_rates         Read       single -;
        POST   CreateInterestRate       create_interest_rate        Write      bulk   NewInterestRate;
        PUT    ReplaceInterestRate      replace_interest_rate       Write      bulk   ReplacedInterestRate;
    }
    "/accounts/{account_id}/temp_promos" {
        GET    ListTempPromos           list_temp_promos            Read       single -;
        POST   CreateTempPromo          create_temp_promo           Write      bulk   NewTempPromo;
    }
    "/accounts/{account_id}/interest_pauses" {
        POST   CreateInterestPause      create_interest_pause       Write      bulk   NewInterestPause;
    }
    "/accounts/{account_id}/due_date" {
        PUT    ChangeDueDate            change_due_date             Write      bulk   DueDateChange;
    }
    "/accounts/{account_id}/skips" {
        POST   SkipInstallments         skip_installments           Write      bulk   NewSkip;
    }
    "/accounts/{account_id}/extensions" {
        POST   ExtendTerm               extend_term                 Write      bulk   NewExtension;
    }
    "/accounts/{account_id}/payment_deferrals" {
        POST   DeferPayments            defer_payments              Write      bulk   NewDeferral;
    }
    "/accounts/{account_id}/deferrals" {
        POST   DeferInstallments        defer_installments          Write      bulk   NewDeferral;
    }
    "/accounts/{account_id}/re_amortizations" {
        POST   ReAmortize               re_amortize                 Write      bulk   NewReAmortization;
    }
    "/accounts/{account_id}/re_ages" {
        POST   ReAge                    re_age                      Write      bulk   NewReAge;
    }
    "/accounts/{account_id}/capitalizations" {
        POST   Capitalize               capitalize                  Write      bulk   NewCapitalization;
    }
    "/accounts/{account_id}/changes" {
        GET    ListChanges              list_changes                Read       single -;
    }
    "/accounts/{account_id}/changes/{change_id}" {
        GET    GetChange                get_change                  Read       single -;
        DELETE WithdrawChange           withdraw_change             Write      single -;
    }
    "/accounts/{account_id}/changes/{change_id}/cancel" {
        POST   CancelChange             cancel_change               Write      bulk   ChangeCancel;
    }
    "/accounts/{account_id}/line_items" {
        GET    ListLineItems            list_line_items             Read       single -;
    }
    "/accounts/{account_id}/line_items/{line_item_id}" {
        GET    GetLineItem              get_line_item               Read       single -;
        PUT    ChangeLineItem           change_line_item            Write      single ChangeLineItem;
        DELETE WithdrawLineItem         withdraw_line_item          Write      single -;
    }
    "/accounts/{account_id}/line_items/payments/payment_record" {
        POST   RecordPayment            record_payment              Write      bulk   PaymentRecord;
    }
    "/accounts/{account_id}/line_items/payment_reversals/{line_item_id}" {
        POST   ReversePayment           reverse_payment             Write      bulk   PaymentReversal;
    }
    "/accounts/{account_id}/line_items/manual_fees" {
        POST   ChargeManualFee          charge_manual_fee           Write      bulk   ManualFee;
    }
    "/accounts/{account_id}/line_items/fee_waiver/{line_item_id}" {
        POST   WaiveFee                 waive_fee                   Write      bulk   FeeWaiver;
    }
    "/accounts/{account_id}/line_items/credit_offsets" {
        POST   CreditOffset             credit_offset               Write      bulk   Offset;
    }
    "/accounts/{account_id}/line_items/debit_offsets" {
        POST   DebitOffset              debit_offset                Write      bulk   Offset;
    }
    "/accounts/{account_id}/line_items/refunds" {
        POST   RefundSurplus            refund_surplus              Write      bulk   NewRefund;
    }
    "/accounts/{account_id}/line_items/refund_reversals/{line_item_id}" {
        POST   ReverseRefund            reverse_refund              Write      bulk   RefundReversal;
    }
    "/accounts/{account_id}/line_items/restructures/loans" {
        POST   Restructure              restructure                 Write      bulk   NewRestructure;
    }
    "/bulk" {
        POST   Bulk                     bulk                        Write      single -;
    }
    "/admin/roll/account" {
        PATCH  RollAccount              roll_account                Administer single Roll;
        POST   RollAccountByPost        roll_account_by_post        Administer single Roll;
    }
    "/organization/keys" {
        GET    ListKeys                 list_keys                   Administer single -;
        POST   CreateKey                create_key                  Administer single NewKey;
    }
    "/organization/keys/{client_id}" {
        DELETE RevokeKey                revoke_key                  Administer single -;
    }
    "/organization/audit" {
        GET    ListAuditRecords         list_audit_records          Administer single -;
    }
    "/organization/subscribe" {
        PUT    Subscribe                subscribe                   Write      single Subscribe;
        POST   SubscribeByPost          subscribe_by_post           Write      single Subscribe;
    }
    "/organization/subscriptions" {
        GET    ListSubscriptions        list_subscriptions          Read       single -;
    }
    "/organization/subscriptions/{webhook_uuid}" {
        DELETE DeleteSubscription       delete_subscription         Write      single -;
    }
    "/organization/subscriptions/{webhook_uuid}/unsubscribe" {
        PUT    Unsubscribe              unsubscribe                 Write      single -;
        POST   UnsubscribeByPost        unsubscribe_by_post         Write      single -;
    }
    "/organization/subscriptions/{webhook_uuid}/resubscribe" {
        PUT    Resubscribe              resubscribe                 Write      single -;
        POST   ResubscribeByPost        resubscribe_by_post         Write      single -;
    }
    "/organization/subscribe/replay_failed_events" {
        PUT    ReplayFailedEvents       replay_failed_events        Write      single Replay;
    }
    "/organization/subscribe/test" {
        GET    SendTestEvent            send_test_event             Write      single -;
    }
    "/organization/hmac_key" {
        GET    GetHmacKey               get_hmac_key                Administer single -;
    }
    "/organization/hmac_key/rotate" {
        POST   RotateHmacKey            rotate_hmac_key             Administer single -;
    }
    "/organization/event_types" {
        GET    ListEventTypes           list_event_types            Read       single -;
    }
    "/organization/deliveries" {
        GET    ListDeliveries           list_deliveries             Read       single -;
    }
    "/organization/dead_letters" {
        GET    ListDeadLetters          list_dead_letters           Read       single -;
    }
    "/organization/messages" {
        GET    ListMessages             list_messages               Read       single -;
    }
    "/organization/messages/{event_id}" {
        GET    GetMessage               get_message                 Read       single -;
    }
    "/organization/messages/{event_id}/resend" {
        POST   ResendMessage            resend_message              Write      single Resend;
    }
    "/healthz" {
        GET    Healthz                  healthz                     public     single -;
    }
    "/readyz" {
        GET    Readyz                   readyz                      public     single -;
    }
    "/metrics" {
        GET    Metrics                  metrics                     public     single -;
    }
}
