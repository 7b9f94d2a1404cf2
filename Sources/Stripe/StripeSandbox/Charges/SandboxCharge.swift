import NIOCore

/// A Charge as the sandbox keeps it.
struct SandboxCharge: RenderedObject {
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
    /// The source charged, as it was rendered then, and its id.
    var source: (id: String, json: ByteBuffer)?
    var card: SandboxCard?
    var ownerName: String?
    var ownerEmail: String?
    var metadata: [String: String] = [:]
    var status: String
    var failure: PaymentFailure?
    /// Whether the money was taken, or is only reserved.
    var isCaptured = true
    /// What was captured; meaningless while nothing is.
    var capturedAmount: Int
    var refundedAmount = 0
    var rendered: ByteBuffer?

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

    var isRefunded: Bool { refundedAmount >= amount && amount > 0 }

    func render() -> [UInt8] { JSONWriter.object { render(into: &$0) } }

    private func render(into writer: inout JSONWriter) {
        let isPaid = status == "succeeded"
        writer.field("id", id)
        writer.field("object", "charge")
        writer.field("amount", amount)
        writer.field("amount_captured", isPaid && isCaptured ? capturedAmount : 0)
        writer.field("amount_refunded", refundedAmount)
        writer.nulls("application", "application_fee", "application_fee_amount")
        writer.field("balance_transaction", isPaid && isCaptured ? "txn_\(id.dropFirst(3))" : nil)
        writer.key("billing_details")
        writer.object { writer in
            writer.key("address")
            writer.object { $0.nulls("city", "country", "line1", "line2", "postal_code", "state") }
            writer.field("email", ownerEmail)
            writer.field("name", ownerName)
            writer.nulls("phone", "tax_id")
        }
        writer.nulls("calculated_statement_descriptor")
        writer.field("captured", isPaid && isCaptured)
        writer.field("created", created)
        writer.field("currency", currency)
        writer.field("customer", customer)
        writer.field("description", description)
        writer.field("disputed", false)
        writer.nulls("failure_balance_transaction")
        writer.field("failure_code", failure?.code)
        writer.field("failure_message", failure?.message)
        writer.field("fraud_details", [:])
        writer.field("livemode", false)
        writer.field("metadata", metadata)
        writer.nulls("on_behalf_of")
        renderOutcome(into: &writer)
        writer.field("paid", isPaid)
        writer.field("payment_intent", paymentIntent)
        writer.field("payment_method", paymentMethod ?? source?.id)
        renderMethod(into: &writer)
        writer.nulls("receipt_email", "receipt_number", "receipt_url")
        writer.field("refunded", isRefunded)
        writer.nulls("review", "shipping")
        writer.field("source", source) { $1.raw($0.json.readableBytesView) }
        writer.nulls("source_transfer")
        writer.field("statement_descriptor", statementDescriptor)
        writer.nulls("statement_descriptor_suffix")
        writer.field("status", status)
        writer.nulls("transfer_data", "transfer_group")
    }

    /// What the network is said to have answered; declines carry their code here too.
    private func renderOutcome(into writer: inout JSONWriter) {
        let isDeclined = status == "failed"
        writer.key("outcome")
        writer.object { writer in
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
        writer.key("payment_method_details")
        writer.object { writer in
            writer.key(type)
            writer.object { writer in
                guard type == "card" else { return }
                let card = card ?? SandboxCard(number: "4242424242424242")
                writer.field("brand", card.brand.lowercased())
                writer.field("country", "US")
                writer.field("exp_month", card.expiryMonth)
                writer.field("exp_year", card.expiryYear)
                writer.field("funding", "credit")
                writer.field("last4", card.last4)
                writer.field("network", card.brand.lowercased())
                writer.key("three_d_secure")
                if methodType == "three_d_secure" {
                    writer.object { writer in
                        writer.field("result", "authenticated")
                        writer.field("version", "2.1.0")
                    }
                } else {
                    writer.value(nil as String?)
                }
            }
            writer.field("type", type)
        }
    }
}

/// What becomes of a charge in test mode, decided by what the customer gave.
///
/// Owner names come before card numbers, and those before IBANs: a name can be given with every method.
///
/// | given | outcome |
/// |---|---|
/// | card …0002, …9995, …0069, …0127, …0119 and kin | declined, with the code that Stripe documents |
/// | IBAN …3202, …3205, DE62…3001 | pending, then failed |
/// | IBAN …343434 | pending for good |
/// | owner `failing_charge`, `pending_charge`, `charge_exceeds_source_limit` | the same for any source |
///
/// *Source*: <https://docs.stripe.com/testing>, <https://docs.stripe.com/sources/sepa-debit>.
enum ChargeOutcome {
    case succeeds
    /// Fails at once, with 402 and a failed charge.
    case declined(PaymentFailure)
    /// Is refused with 400 before there is a charge; the same request may work later.
    case refused(PaymentFailure)
    /// Is pending for a while and then fails.
    case failsLater(PaymentFailure)
    /// Is pending and stays so until a test settles it.
    case staysPending

    /// Stripe's test cards.
    init(cardNumber number: String) {
        switch number.suffix(4) {
        // 0341 can be stored, and fails when charged.
        case "0002", "0341": self = .declined(.cardDeclined)
        case "9995": self = .declined(.insufficientFunds)
        case "9987": self = .decline("lost_card", "Your card was declined.")
        case "9979": self = .decline("stolen_card", "Your card was declined.")
        case "6975": self = .decline("card_velocity_exceeded", "Your card was declined.")
        case "0069":
            self = .declined(
                PaymentFailure(code: "expired_card", message: "Your card has expired.")
            )
        case "0127":
            self = .declined(
                PaymentFailure(
                    code: "incorrect_cvc",
                    message: "Your card's security code is incorrect."
                )
            )
        case "0119":
            self = .declined(
                PaymentFailure(
                    code: "processing_error",
                    message:
                        "An error occurred while processing your card. Try again in a little bit."
                )
            )
        default: self = .succeeds
        }
    }

    /// Stripe's test IBANs, by the digits that tell them apart; any other succeeds.
    init(iban: String) {
        let plain = iban.filter { $0 != " " }
        if plain.hasPrefix("DE62"), plain.hasSuffix("3001") {
            self = .failsLater(.debitRefused)
        } else if plain.hasSuffix("00234573202") || plain.hasSuffix("00235473202")
            || plain.hasSuffix("00235473205")
        {
            self = .failsLater(.debitRefused)
        } else if plain.hasSuffix("0000343434") {
            self = .staysPending
        } else if plain.hasSuffix("0000121212") || plain.hasSuffix("0000121213") {
            self = .refused(.sourceLimit)
        } else if plain.hasSuffix("0000989898") {
            self = .failsLater(
                PaymentFailure(
                    code: "insufficient_funds",
                    message: "The customer's account has insufficient funds to cover this payment."
                )
            )
        } else {
            self = .succeeds
        }
    }

    /// Test-mode owner names; nil for ordinary people.
    init?(ownerName name: String?) {
        switch name {
        case "succeeding_charge": self = .succeeds
        case "failing_charge": self = .failsLater(.bankDeclined)
        case "pending_charge": self = .staysPending
        case "charge_exceeds_source_limit": self = .refused(.sourceLimit)
        default: return nil
        }
    }

    private static func decline(_ code: String, _ message: String) -> ChargeOutcome {
        .declined(PaymentFailure(code: "card_declined", declineCode: code, message: message))
    }
}

/// Why a payment failed, in Stripe's words.
struct PaymentFailure {
    let code: String
    var declineCode: String?
    let message: String

    static let cardDeclined = PaymentFailure(
        code: "card_declined",
        declineCode: "generic_decline",
        message: "Your card was declined."
    )
    static let bankDeclined = PaymentFailure(
        code: "payment_method_provider_decline",
        message: "The payment was declined by the bank."
    )
    static let debitRefused = PaymentFailure(
        code: "debit_not_authorized",
        message: "The customer has notified their bank that this payment was unauthorised."
    )
    static let insufficientFunds = PaymentFailure(
        code: "card_declined",
        declineCode: "insufficient_funds",
        message: "Your card has insufficient funds."
    )
    static let sourceLimit = PaymentFailure(
        code: "charge_exceeds_source_limit",
        message: "This payment would exceed your account's processing limit for this source type. "
            + "Retry later."
    )
}
