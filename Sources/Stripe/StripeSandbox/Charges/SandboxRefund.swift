import NIOCore

/// A Refund as the sandbox keeps it.
struct SandboxRefund {
    let id: String
    let account: String?
    let charge: String
    let paymentIntent: String?
    let amount: Int
    let currency: String
    let created: Int
    let reason: String?
    /// The receiver source whose refund data is awaited; nil when the money can go at once.
    let waitsForSource: String?
    var metadata: [String: String]
    /// `pending`, `succeeded`, `failed` or `canceled`.
    var status: String

    func json() -> ByteBuffer {
        ByteBuffer(
            bytes: JSONWriter.object { writer in
                writer.field("id", id)
                writer.field("object", "refund")
                writer.field("amount", amount)
                writer.field(
                    "balance_transaction",
                    status == "succeeded" ? "txn_\(id.dropFirst(3))" : nil
                )
                writer.field("charge", charge)
                writer.field("created", created)
                writer.field("currency", currency)
                writer.field("metadata", metadata)
                writer.field("payment_intent", paymentIntent)
                writer.field("reason", reason)
                writer.nulls("receipt_number", "source_transfer_reversal")
                writer.field("status", status)
                writer.nulls("transfer_reversal")
            }
        )
    }
}
