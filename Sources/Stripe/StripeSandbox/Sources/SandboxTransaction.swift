import NIOCore

/// One payment to a receiver source.
struct SandboxTransaction {
    let id: String
    let source: String
    let type: String
    let amount: Int
    let currency: String
    let created: Int
    /// `pending`, `succeeded` or `failed`.
    var status: String

    func json() -> ByteBuffer {
        ByteBuffer(
            bytes: JSONWriter.object { writer in
                writer.field("id", id)
                writer.field("object", "source_transaction")
                writer.field("amount", amount)
                writer.field("created", created)
                writer.field("currency", currency)
                writer.field("livemode", false)
                writer.field("source", source)
                writer.field("status", status)
                writer.field("type", type)
                // The specification has no such hash for the other types.
                switch type {
                case "ach_credit_transfer":
                    writer.key(type)
                    writer.object { writer in
                        writer.field("customer_data", "")
                        writer.field("fingerprint", "Ih3foEnRvLXShyfB")
                        writer.field("last4", "1000")
                        writer.field("routing_number", "110000000")
                    }
                case "sepa_credit_transfer":
                    writer.key(type)
                    writer.object { writer in
                        writer.field("reference", "sandbox payment")
                        writer.field("sender_iban", "DE89370400440532013000")
                        writer.field("sender_name", "Jenny Rosen")
                    }
                default: break
                }
            }
        )
    }
}
