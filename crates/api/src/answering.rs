//! Answers to writes about an account: the result, or a preview of it.

use crate::parameters::PreviewParameters;
use crate::{Api, Json, JsonResult};
use daybook_service::access::Caller;
use daybook_service::changes::ChangeRequest;
use daybook_service::processor::job::IdempotencyKey;

/// Makes a change of an account, or shows what it would do.
pub async fn answer_change(
    api: &Api,
    who: &Caller,
    idempotency_key: Option<IdempotencyKey>,
    account: &str,
    change: ChangeRequest,
    parameters: &PreviewParameters,
) -> JsonResult {
    if parameters.is_preview()? {
        return Json::of_long(api.service.preview(who, account, change).await?).await;
    }
    Ok(Json(api.service.change_account(who, idempotency_key, account, change).await?))
}
