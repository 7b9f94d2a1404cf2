import JSONText
import NIOCore
import SafeNumbers

/// The course of a refund, which the test card of the charge selects.
enum RefundOutcome {
    case succeeds
    /// Pending, then succeeded.
    case succeedsLater
    /// Succeeds and then fails because the account is closed.
    case failsLater
}

/// The sandbox's Refund.
///
/// ```
/// requires_action ──▶ pending ──▶ succeeded ──▶ failed
///        └──▶ canceled  └──▶ failed
/// ```
/// The charge's `amount_refunded` includes a refund as soon as it is created. If the refund fails or is canceled, the
/// shop gets the money back, and `amount_refunded` decreases again.
/// *Source*: <https://docs.stripe.com/refunds#failed-refunds>; `pending_reason` since 2025-04-30.basil
/// (<https://docs.stripe.com/changelog/basil/2025-04-30/refund-pending-reason>).
struct SandboxRefund: OwnedObject, Codable {
    static let kind = "refund"

    /// Why a refund failed, and the return of its money.
    struct Failure: Codable {
        let reason: String
        /// The balance transaction that returned the money; `nil` if there is none.
        let line: String?
    }

    let id: String
    let account: String?
    let charge: String
    let paymentIntent: String?
    let amount: Int
    let currency: String
    let created: Int
    let reason: String?
    /// The receiver Source that lacks the customer's account; `nil` if the refund waits for none.
    let waitsForSource: String?
    var metadata: [String: String]
    /// `pending`, `requires_action`, `succeeded`, `failed` or `canceled`.
    var status: String
    /// `processing`, `insufficient_funds` or `charge_pending`; `nil` unless the refund is pending.
    var pendingReason: String?
    /// The email address that is asked for an account; `nil` when none is needed.
    var instructionsEmail: String?
    /// The amount in the customer's currency; `nil` if it is the charge's currency.
    var presentment: SandboxPresentment?
    /// The reversal of the charge's transfer; `nil` unless it was requested.
    var transferReversal: String?
    /// The refund's balance transaction; `nil` for a released hold.
    var balanceTransaction: String?
    /// The failure; `nil` unless the refund failed.
    var failure: Failure?

    func json() -> ByteBuffer {
        .object { writer in
            writer.field("id", id)
            writer.field("object", "refund")
            writer.field("amount", amount)
            writer.field("balance_transaction", balanceTransaction)
            writer.field("charge", charge)
            writer.field("created", created)
            writer.field("currency", currency)
            if let failure {
                if let line = failure.line {
                    writer.field("failure_balance_transaction", line)
                }
                writer.field("failure_reason", failure.reason)
            }
            if let instructionsEmail {
                writer.field("instructions_email", instructionsEmail)
            }
            writer.field("metadata", metadata)
            if status == "requires_action" { renderAction(into: &writer) }
            writer.field("payment_intent", paymentIntent)
            if status == "pending", let pendingReason {
                writer.field("pending_reason", pendingReason)
            }
            presentment?.render(into: &writer)
            writer.field("reason", reason)
            writer.nulls("receipt_number", "source_transfer_reversal")
            writer.field("status", status)
            writer.field("transfer_reversal", transferReversal)
        }
    }

    /// Renders the next action: the customer received an email and has 45 days to respond.
    private func renderAction(into writer: inout JSONWriter) {
        writer.object("next_action") { writer in
            writer.object("display_details") { writer in
                writer.object("email_sent") { writer in
                    writer.field("email_sent_at", created)
                    writer.field("email_sent_to", instructionsEmail ?? "payer@example.com")
                }
                writer.field("expires_at", created + 45 * 86_400)
            }
            writer.field("type", "display_details")
        }
    }
}

/// The amount shown to a customer in their own currency (Adaptive Pricing).
///
/// *Source*: `presentment_details` of <https://docs.stripe.com/api/charges/object>, since 2025-03-31.basil.
struct SandboxPresentment: Codable {
    let amount: Int
    let currency: String

    func render(into writer: inout JSONWriter) {
        writer.object("presentment_details") { writer in
            writer.field("presentment_amount", amount)
            writer.field("presentment_currency", currency)
        }
    }

    /// Returns the proportional amount for a part of the total.
    func share(_ part: Int, of whole: Int) -> SandboxPresentment {
        // Computed in floating point, because the product may overflow.
        let share = whole > 0 ? Double(amount) * Double(part) / Double(whole) : 0
        return SandboxPresentment(amount: Int(saturating: share.rounded()), currency: currency)
    }
}
