import JSONText
import NIOCore

/// The sandbox's PaymentIntent.
///
/// | from | by | to |
/// |---|---|---|
/// | `requires_payment_method` | a method | `requires_confirmation` |
/// | `requires_confirmation` | confirmation, if the customer must act | `requires_action` |
/// | either of the two | confirmation or action, if the bank decides later | `processing` |
/// | either of the two | the same, with `capture_method=manual` | `requires_capture` |
/// | all of these | the same, the bank's decision, `capture` | `succeeded` |
/// | all of these | a decline, an expired action | `requires_payment_method` |
/// | all but `processing` and `succeeded` | `cancel` | `canceled` |
///
/// Every status from `processing` on has a charge: pending, succeeded, or authorised. An action expires after
/// ``SandboxNextAction/lifeMs``. `requires_confirmation` has no event.
/// *Source*: <https://docs.stripe.com/payments/paymentintents/lifecycle>.
struct SandboxIntent: ConfirmableObject, Codable {
    static let name = "PaymentIntent"
    static let kind = "payment_intent"
    static let unexpectedState = "payment_intent_unexpected_state"
    static let parameter = "payment_intent"
    static let abandoned = PaymentFailure(
        code: "payment_intent_authentication_failure",
        message: "The customer did not authorise the payment."
    )
    static let expired = PaymentFailure(
        code: "payment_intent_payment_attempt_expired",
        message: "The latest attempt to confirm the payment has expired."
    )
    static let events = [
        "requires_action": "payment_intent.requires_action",
        "processing": "payment_intent.processing", "succeeded": "payment_intent.succeeded",
        "canceled": "payment_intent.canceled",
        "requires_capture": "payment_intent.amount_capturable_updated",
        "requires_payment_method": "payment_intent.payment_failed",
    ]
    static func expiry(of id: String) -> SandboxTimer { .expireIntent(id) }

    let id: String
    /// The connected account that owns the intent; `nil` for the platform.
    let account: String?
    let clientSecret: String
    let created: Int
    var amount: Int
    var currency: String
    var methodTypes: [String]
    /// Whether Stripe selects the methods, so that any type is allowed.
    var isAutomatic = false
    var isManualCapture = false
    /// `payment_method_options[card][request_multicapture]`: `if_available` or `never`.
    var multicapture: String?
    var isManualConfirmation = false
    var description: String?
    var customer: String?
    var receiptEmail: String?
    var statementDescriptor: String?
    var setupFutureUsage: String?
    var metadata: [String: String] = [:]
    /// The distribution of the money (Connect).
    var sharing = SandboxSharing()
    var status = "requires_payment_method"
    var method: SandboxMethod?
    var nextAction: SandboxNextAction?
    /// The expiry of the customer's action, in sandbox time; `nil` for none.
    var actionEndMs: Int64?
    var attemptsRemaining = Microdeposits.attemptsMax
    /// The amount received by bank transfer so far.
    var fundedAmount = 0
    var receivedAmount = 0
    var latestCharge: String?
    var canceledAt: Int?
    var cancellationReason: String?
    var lastError: SandboxPaymentError?
    /// The result of the last redirect; kept after the action.
    var lastRedirect: SandboxRedirect?
    /// The amount shown to the customer in another currency.
    var presentment: SandboxPresentment?
    var rendered = RenderedJSON()

    /// Whether a partial capture may keep the rest of the hold for further captures.
    var mayBeCapturedAgain: Bool { multicapture == "if_available" && method?.type == "card" }

    /// The amount that can be captured.
    var capturable: Int { status == "requires_capture" ? amount - receivedAmount : 0 }

    func render() -> [UInt8] { render(withMetadata: true) }

    /// Renders the intent.
    ///
    /// Publishable keys do not receive metadata. `expand[]=latest_charge` and `expand[]=payment_method` replace the
    /// IDs by the objects.
    func render(
        withMetadata: Bool,
        charge: ByteBuffer? = nil,
        method expanded: ByteBuffer? = nil
    ) -> [UInt8] {
        JSONWriter.object { writer in
            writer.field("id", id)
            writer.field("object", "payment_intent")
            writer.field("amount", amount)
            writer.field("amount_capturable", capturable)
            writer.object("amount_details") { writer in
                writer.object("tip") { _ in }
            }
            writer.field("amount_received", receivedAmount)
            writer.nulls("application")
            sharing.render(into: &writer)
            writer.name("automatic_payment_methods")
            if isAutomatic {
                writer.object { writer in
                    writer.field("allow_redirects", "always")
                    writer.field("enabled", true)
                }
            } else {
                writer.null()
            }
            writer.field("canceled_at", canceledAt)
            writer.field("cancellation_reason", cancellationReason)
            writer.field("capture_method", isManualCapture ? "manual" : "automatic")
            writer.field("client_secret", clientSecret)
            writer.field("confirmation_method", isManualConfirmation ? "manual" : "automatic")
            writer.field("created", created)
            writer.field("currency", currency)
            writer.field("customer", customer)
            writer.field("description", description)
            writer.field("last_payment_error", lastError) { $0.render(into: &$1) }
            if let charge {
                writer.field("latest_charge", raw: charge.readableBytesView)
            } else {
                writer.field("latest_charge", latestCharge)
            }
            writer.field("livemode", false)
            if withMetadata { writer.field("metadata", metadata) }
            let action = status == "requires_action" ? nextAction : nil
            writer.field("next_action", action) { action, writer in
                action.render(
                    into: &writer,
                    missing: max(0, amount - fundedAmount),
                    currency: currency,
                    reference: String(id.suffix(12))
                )
            }
            if let expanded {
                writer.field("payment_method", raw: expanded.readableBytesView)
            } else {
                writer.field("payment_method", method?.id)
            }
            writer.field("payment_method_options", [:])
            writer.field("payment_method_types", methodTypes)
            presentment?.render(into: &writer)
            writer.nulls("processing")
            writer.field("receipt_email", receiptEmail)
            writer.nulls("review")
            writer.field("setup_future_usage", setupFutureUsage)
            writer.nulls("shipping", "source")
            writer.field("statement_descriptor", statementDescriptor)
            writer.nulls("statement_descriptor_suffix")
            writer.field("status", status)
        }
    }
}

/// The action that an intent requires of its customer.
enum SandboxNextAction: Codable {
    /// Visit a page and return.
    case redirect(SandboxRedirect)
    /// Send money to a bank account assigned to the customer.
    case bankTransfer(pageURL: String)
    /// Enter two small amounts from a bank statement.
    case microdeposits(pageURL: String, arrival: Int)
    /// Scan a QR code.
    case scan(pageURL: String)

    /// The life of the action: 48 hours by Stripe's transition guide, ten days for a bank statement.
    var lifeMs: Int64? {
        switch self {
        case .redirect, .scan: 48 * 3_600_000
        case .microdeposits: 10 * 24 * 3_600_000
        case .bankTransfer: nil
        }
    }

    /// Renders the action; `missing` is the amount that a bank transfer still lacks.
    func render(into writer: inout JSONWriter, missing: Int, currency: String, reference: String) {
        writer.object { writer in
            switch self {
            case .redirect(let redirect):
                writer.object("redirect_to_url") { writer in
                    writer.field("return_url", redirect.returnURL)
                    writer.field("url", redirect.url)
                }
                writer.field("type", "redirect_to_url")
            case .bankTransfer(let pageURL):
                writer.object("display_bank_transfer_instructions") { writer in
                    writer.field("amount_remaining", missing)
                    writer.field("currency", currency)
                    writer.array("financial_addresses") { Self.account(into: &$0) }
                    writer.field("hosted_instructions_url", pageURL)
                    writer.field("reference", reference)
                    writer.field("type", "eu_bank_transfer")
                }
                writer.field("type", "display_bank_transfer_instructions")
            case .microdeposits(let pageURL, let arrival):
                writer.field("type", "verify_with_microdeposits")
                writer.object("verify_with_microdeposits") { writer in
                    writer.field("arrival_date", arrival)
                    writer.field("hosted_verification_url", pageURL)
                    writer.field("microdeposit_type", "amounts")
                }
            case .scan(let pageURL):
                writer.field("type", "wechat_pay_display_qr_code")
                writer.object("wechat_pay_display_qr_code") { writer in
                    writer.field("data", "weixin://wxpay/bizpayurl?pr=test")
                    writer.field("hosted_instructions_url", pageURL)
                    writer.field("image_data_url", "data:image/png;base64,")
                    writer.field("image_url_png", pageURL)
                    writer.field("image_url_svg", pageURL)
                }
            }
        }
    }

    private static func account(into writer: inout JSONWriter) {
        writer.object { writer in
            writer.object("iban") { writer in
                writer.field("account_holder_name", "Stripe Technology Europe Limited")
                writer.field("bic", "SOGEDEFF")
                writer.field("country", "DE")
                writer.field("iban", "DE89370400440532013000")
            }
            writer.field("supported_networks", ["sepa"])
            writer.field("type", "iban")
        }
    }
}

/// The error of the last failed attempt.
struct SandboxPaymentError: Codable {
    let failure: PaymentFailure
    let methodType: String
    var charge: String?
    /// The PaymentMethod at the time of the error.
    var method: ByteBuffer?

    private var type: String { methodType == "card" ? "card_error" : "invalid_request_error" }

    func render(into writer: inout JSONWriter) {
        writer.object { writer in
            if let charge { writer.field("charge", charge) }
            writer.field("code", failure.code)
            if let declineCode = failure.declineCode { writer.field("decline_code", declineCode) }
            writer.field("doc_url", "https://stripe.com/docs/error-codes/\(failure.code)")
            writer.field("message", failure.message)
            if let method { writer.field("payment_method", raw: method.readableBytesView) }
            writer.field("payment_method_type", methodType)
            writer.field("type", type)
        }
    }
}
