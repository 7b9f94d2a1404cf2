import NIOCore

/// A Charge as the sandbox keeps it.
struct SandboxCharge {
    let id: String
    let amount: Int
    let currency: String
    let created: Int
    let methodType: String
    let paymentIntent: String?
    let customer: String?
    let description: String?
    let statementDescriptor: String?
    /// The source charged, as it was rendered then, and its id.
    let source: (id: String, json: ByteBuffer)?
    let ownerName: String?
    let ownerEmail: String?
    var metadata: [String: String]
    var status: String
    var isCaptured: Bool
    var failureCode: String?
    var failureMessage: String?
    private var rendered: ByteBuffer?

    init(
        id: String,
        amount: Int,
        currency: String,
        created: Int,
        methodType: String,
        status: String,
        isCaptured: Bool = true,
        paymentIntent: String? = nil,
        customer: String? = nil,
        description: String? = nil,
        statementDescriptor: String? = nil,
        source: (id: String, json: ByteBuffer)? = nil,
        owner: SandboxOwner? = nil,
        metadata: [String: String] = [:]
    ) {
        self.id = id
        self.amount = amount
        self.currency = currency
        self.created = created
        self.methodType = methodType
        self.status = status
        self.isCaptured = isCaptured
        self.paymentIntent = paymentIntent
        self.customer = customer
        self.description = description
        self.statementDescriptor = statementDescriptor
        self.source = source
        ownerName = owner?.name
        ownerEmail = owner?.email
        self.metadata = metadata
    }

    mutating func json() -> ByteBuffer {
        if let rendered { return rendered }
        let buffer = ByteBuffer(bytes: render())
        rendered = buffer
        return buffer
    }

    /// Must follow every change.
    mutating func changed() {
        rendered = nil
    }

    func render() -> [UInt8] {
        JSONWriter.object { render(into: &$0) }
    }

    private func render(into writer: inout JSONWriter) {
        let isPaid = status == "succeeded"
        writer.field("id", id)
        writer.field("object", "charge")
        writer.field("amount", amount)
        writer.field("amount_captured", isPaid && isCaptured ? amount : 0)
        writer.field("amount_refunded", 0)
        writer.nulls("application", "application_fee", "application_fee_amount")
        writer.field("balance_transaction", isPaid ? "txn_\(id.dropFirst(3))" : nil)
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
        writer.field("failure_code", failureCode)
        writer.field("failure_message", failureMessage)
        writer.field("fraud_details", [:])
        writer.field("livemode", false)
        writer.field("metadata", metadata)
        writer.nulls("on_behalf_of", "outcome")
        writer.field("paid", isPaid)
        writer.field("payment_intent", paymentIntent)
        writer.field("payment_method", source?.id)
        writer.key("payment_method_details")
        writer.object { writer in
            writer.key(methodType)
            writer.object { _ in }
            writer.field("type", methodType)
        }
        writer.nulls("receipt_email", "receipt_number", "receipt_url")
        writer.field("refunded", false)
        writer.nulls("review", "shipping")
        writer.key("source")
        if let source {
            writer.raw(source.json.readableBytesView)
        } else {
            writer.value(nil as String?)
        }
        writer.nulls("source_transfer")
        writer.field("statement_descriptor", statementDescriptor)
        writer.nulls("statement_descriptor_suffix")
        writer.field("status", status)
        writer.nulls("transfer_data", "transfer_group")
    }
}
