import JSONText
import NIOCore

/// A Charge as the sandbox keeps it.
struct SandboxCharge: RenderedObject, Codable {
    /// A source that was charged, as it was then.
    struct Source: Codable {
        let id: String
        let json: ByteBuffer
    }

    let id: String
    /// The connected account it belongs to; nil is the platform's own.
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
    /// Who paid.
    var billing = BillingDetails()
    var metadata: [String: String] = [:]
    var status: String
    var failure: PaymentFailure?
    /// What of it goes to whom.
    var sharing = SandboxSharing()
    /// What becomes of it later.
    var outcome = ChargeOutcome.succeeds
    /// Whether the money was taken, or is only reserved.
    var isCaptured = true
    /// What was captured so far; meaningless while nothing is (``taken``).
    var capturedAmount: Int
    /// When reserved money is let go, seconds since 1970; nil of what was never only reserved.
    var captureBefore: Int?
    /// What became of money that was only reserved at first; nil of any other.
    var hold: SandboxHold?
    /// What went back.
    var refundedAmount = 0
    /// Its refunds, oldest first.
    var refunds: [String] = []
    /// Whether there is, or was, a dispute.
    var isDisputed = false
    /// What its customer was shown in another currency.
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

    /// What was captured so far.
    var taken: Int {
        guard status == "succeeded" else { return 0 }
        return isCaptured || hold?.captures ?? 0 > 0 ? capturedAmount : 0
    }

    /// Whether the money, or a part of it, is ours.
    var isTaken: Bool { taken > 0 }

    /// Whether money is reserved that may be captured.
    var isHeld: Bool {
        status == "succeeded" && !isCaptured && !(hold?.isReleased ?? false) && !isRefunded
    }

    /// What can be given back: what was captured; of a hold of which nothing was, all of it.
    var refundable: Int { isTaken ? taken + (hold?.refundedRest ?? 0) : amount }

    /// Whether all of it went back, which it has not while more may be captured.
    var isRefunded: Bool {
        amount > 0 && refundedAmount >= refundable && (isCaptured || !isTaken)
    }

    /// The line of the balance that it made.
    var balanceTransaction: String { "txn_\(id.dropFirst(3))" }

    func render() -> [UInt8] { render(refunds: nil) }

    /// An expanded list has its first ten objects.
    private static let expandedMax = 10

    /// With its refunds, the newest ten, and the line of the balance where they were asked for
    /// (`expand[]=refunds`).
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

    /// What the network is said to have answered; declines carry their code here too.
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
        // A charge knows 3D Secure as a property of the card.
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
