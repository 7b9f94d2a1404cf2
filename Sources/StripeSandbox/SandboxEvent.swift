import NIOCore

/// An event: its object is the JSON of the moment and never rendered again.
struct SandboxEvent {
    let id: String
    let type: String
    let created: Int
    let object: ByteBuffer
    let requestID: String?
    let idempotencyKey: String?
    let account: String?
    var pendingWebhooks: Int

    func json() -> [UInt8] {
        JSONWriter.object { writer in
            writer.field("id", id)
            writer.field("object", "event")
            if let account { writer.field("account", account) }
            writer.field("api_version", SandboxState.apiVersion)
            writer.field("created", created)
            writer.key("data")
            writer.object { $0.field("object", raw: object.readableBytesView) }
            writer.field("livemode", false)
            writer.field("pending_webhooks", pendingWebhooks)
            writer.key("request")
            writer.object { writer in
                writer.field("id", requestID)
                writer.field("idempotency_key", idempotencyKey)
            }
            writer.field("type", type)
        }
    }
}
