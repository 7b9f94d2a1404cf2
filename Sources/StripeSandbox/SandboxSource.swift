import NIOCore

/// A Source as the sandbox keeps it.
struct SandboxSource {
    let id: String
    let type: String
    let flow: String
    let usage: String
    let amount: Int?
    let currency: String?
    let clientSecret: String
    /// Seconds since 1970.
    let created: Int
    let statementDescriptor: String?
    /// The hash named after the type, rendered.
    let details: [UInt8]
    /// The card's last four digits, which decide whether it is declined.
    let cardLast4: String?
    var customer: String?
    var owner: SandboxOwner
    var metadata: [String: String]
    var redirect: SandboxRedirect?
    var receiver: SandboxReceiver?
    var status = "pending"

    /// The object as JSON, kept until something changes.
    private var rendered: ByteBuffer?

    init(
        id: String,
        type: String,
        kind: SourceKind,
        usage: String,
        amount: Int?,
        currency: String?,
        clientSecret: String,
        created: Int,
        statementDescriptor: String? = nil,
        details: [UInt8],
        cardLast4: String? = nil,
        owner: SandboxOwner = SandboxOwner(),
        metadata: [String: String] = [:]
    ) {
        self.id = id
        self.type = type
        flow = kind.flow
        self.usage = usage
        self.amount = amount
        self.currency = currency
        self.clientSecret = clientSecret
        self.created = created
        self.statementDescriptor = statementDescriptor
        self.details = details
        self.cardLast4 = cardLast4
        self.owner = owner
        self.metadata = metadata
    }

    /// The object as a secret key sees it.
    mutating func json() -> ByteBuffer {
        if let rendered { return rendered }
        let buffer = ByteBuffer(bytes: render(withMetadata: true))
        rendered = buffer
        return buffer
    }

    /// Must follow every change.
    mutating func changed() {
        rendered = nil
    }

    /// Publishable keys never see metadata.
    func render(withMetadata: Bool) -> [UInt8] {
        JSONWriter.object { writer in
            writer.field("id", id)
            writer.field("object", "source")
            writer.nulls("allow_redisplay")
            writer.field("amount", amount)
            writer.field("client_secret", clientSecret)
            writer.field("created", created)
            writer.field("currency", currency)
            if let customer { writer.field("customer", customer) }
            writer.field("flow", flow)
            writer.field("livemode", false)
            if withMetadata { writer.field("metadata", metadata) }
            writer.key("owner")
            owner.render(into: &writer)
            if let receiver {
                writer.key("receiver")
                receiver.render(into: &writer, due: amount ?? 0, status: status)
            }
            if let redirect {
                writer.key("redirect")
                redirect.render(into: &writer)
            }
            writer.field("statement_descriptor", statementDescriptor)
            writer.field("status", status)
            writer.field("type", type)
            writer.field("usage", usage)
            writer.field(type, raw: details)
        }
    }
}
