import JSONText
import NIOCore

struct SandboxCharge: RenderedObject, OwnedObject, Codable {
    static let kind = "charge"

    /// The charged Source as it was at the time of the charge.
    struct Source: Codable {
        let id: String
        let json: ByteBuffer
    }

    let id: String
    /// The connected account that owns the charge; `nil` for the platform.
    let account: String?
    let amount: Int
    let currency: String
    let created: Int
    let methodType: String
    var paymentIntent: String?
    var paymentMethod: String?
    var customer: String?
    var description: String?
    var statementDescriptor: String?
    var source: Source?
    var card: SandboxCard?
    /// The payer's billing details.
    var billing = BillingDetails()
    var metadata: [String: String] = [:]
    var status: String
    var failure: PaymentFailure?
    /// The distribution of the money (Connect).
    var sharing = SandboxSharing()
    var outcome = ChargeOutcome.succeeds
    /// Whether the charge is captured; otherwise it is only authorised.
    var isCaptured = true
    /// The captured amount; only meaningful after a capture (``taken``).
    var capturedAmount: Int
    /// The capture deadline of an authorisation, in seconds since 1970; `nil` for a direct charge.
    var captureBefore: Int?
    /// The state of the authorisation; `nil` for a direct charge.
    var hold: SandboxHold?
    var refundedAmount = 0
    /// The refunds, oldest first.
    var refunds: [String] = []
    /// Whether the charge is or was disputed.
    var isDisputed = false
    /// The amount shown to the customer in another currency.
    var presentment: SandboxPresentment?
    var rendered = RenderedJSON()

    init(
        id: String,
        account: String?,
        amount: Int,
        currency: String,
        created: Int,
        methodType: String,
        status: String
    ) {
        self.id = id
        self.account = account
        self.amount = amount
        self.currency = currency
        self.created = created
        self.methodType = methodType
        self.status = status
        capturedAmount = amount
    }

    /// The total captured amount.
    var taken: Int {
        guard status == "succeeded" else { return 0 }
        return isCaptured || hold?.captures ?? 0 > 0 ? capturedAmount : 0
    }

    /// Whether any money was captured.
    var isTaken: Bool { taken > 0 }

    /// Whether there is an authorised amount that can be captured.
    var isHeld: Bool {
        status == "succeeded" && !isCaptured && !(hold?.isReleased ?? false) && !isRefunded
    }

    /// The refundable amount: the captured amount, or the whole authorisation without a capture.
    var refundable: Int { isTaken ? taken + (hold?.refundedRest ?? 0) : amount }

    /// Whether everything was refunded and nothing more can be captured.
    var isRefunded: Bool {
        amount > 0 && refundedAmount >= refundable && (isCaptured || !isTaken)
    }

    var balanceTransaction: String { "txn_\(id.dropFirst(3))" }

    func render() -> [UInt8] { render(refunds: nil) }

    /// The maximum number of objects in an expanded list.
    private static let expandedMax = 10

    /// Renders the charge with its ten newest refunds and its balance transaction, if requested (`expand[]=refunds`).
    func render(refunds: [SandboxRefund]?, line: ByteBuffer? = nil) -> [UInt8] {
        JSONWriter.object { writer in
            render(into: &writer, line)
            guard let refunds else { return }
            writer.object("refunds") { writer in
                writer.field("object", "list")
                writer.array("data") { writer in
                    for refund in refunds.reversed().prefix(Self.expandedMax) {
                        writer.raw(refund.json().readableBytesView)
                    }
                }
                writer.field("has_more", refunds.count > Self.expandedMax)
                writer.field("url", "/v1/charges/\(id)/refunds")
            }
        }
    }

    private func render(into writer: inout JSONWriter, _ line: ByteBuffer?) {
        let isPaid = status == "succeeded"
        writer.field("id", id)
        writer.field("object", "charge")
        writer.field("amount", amount)
        writer.field("amount_captured", taken)
        writer.field("amount_refunded", refundedAmount)
        writer.nulls("application")
        let hasFee = isPaid && sharing.feeAmount != nil
        writer.field("application_fee", hasFee ? "fee_\(id.dropFirst(3))" : nil)
        sharing.render(into: &writer)
        if let line {
            writer.field("balance_transaction", raw: line.readableBytesView)
        } else {
            writer.field("balance_transaction", isTaken ? balanceTransaction : nil)
        }
        writer.name("billing_details")
        billing.render(into: &writer)
        writer.nulls("calculated_statement_descriptor")
        writer.field("captured", isPaid && isCaptured)
        writer.field("created", created)
        writer.field("currency", currency)
        writer.field("customer", customer)
        writer.field("description", description)
        writer.field("disputed", isDisputed)
        writer.nulls("failure_balance_transaction")
        writer.field("failure_code", failure?.code)
        writer.field("failure_message", failure?.message)
        writer.field("fraud_details", [:])
        writer.field("livemode", false)
        writer.field("metadata", metadata)
        renderOutcome(into: &writer)
        writer.field("paid", isPaid)
        writer.field("payment_intent", paymentIntent)
        writer.field("payment_method", paymentMethod ?? source?.id)
        renderMethod(into: &writer)
        presentment?.render(into: &writer)
        writer.nulls("receipt_email", "receipt_number", "receipt_url")
        writer.field("refunded", isRefunded)
        writer.nulls("review", "shipping")
        writer.field("source", source) { $1.raw($0.json.readableBytesView) }
        writer.nulls("source_transfer")
        writer.field("statement_descriptor", statementDescriptor)
        writer.nulls("statement_descriptor_suffix")
        writer.field("status", status)
    }

    /// Renders the network's response, including the code of a decline.
    private func renderOutcome(into writer: inout JSONWriter) {
        let isDeclined = status == "failed"
        writer.object("outcome") { writer in
            writer.field(
                "network_status",
                isDeclined ? "declined_by_network" : "approved_by_network"
            )
            writer.field("reason", isDeclined ? failure?.declineCode ?? failure?.code : nil)
            writer.field(
                "seller_message",
                isDeclined ? "The bank did not return any further details." : "Payment complete."
            )
            writer.field("type", isDeclined ? "issuer_declined" : "authorized")
        }
    }

    private func renderMethod(into writer: inout JSONWriter) {
        // For a charge, 3D Secure is a property of the card.
        let type = methodType == "three_d_secure" ? "card" : methodType
        writer.object("payment_method_details") { writer in
            writer.object(type) { writer in
                guard type == "card" else { return }
                let card = card ?? SandboxCard(number: "4242424242424242")
                writer.field("brand", card.network)
                if let captureBefore { writer.field("capture_before", captureBefore) }
                writer.field("country", card.country)
                writer.field("exp_month", card.expiryMonth)
                writer.field("exp_year", card.expiryYear)
                writer.field("fingerprint", card.fingerprint)
                writer.field("funding", card.funding)
                writer.field("last4", card.last4)
                if let hold {
                    writer.object("multicapture") {
                        $0.field("status", hold.mayBeCapturedAgain ? "available" : "unavailable")
                    }
                }
                writer.field("network", card.network)
                writer.name("three_d_secure")
                if methodType == "three_d_secure" {
                    writer.object { writer in
                        writer.field("result", "authenticated")
                        writer.field("version", "2.1.0")
                    }
                } else {
                    writer.null()
                }
            }
            writer.field("type", type)
        }
    }
}
