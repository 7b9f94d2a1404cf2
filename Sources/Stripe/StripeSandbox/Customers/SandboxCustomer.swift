import NIOCore

/// A Customer, as far as reusable sources need one.
struct SandboxCustomer {
    let id: String
    let account: String?
    let created: Int
    var name: String?
    var email: String?
    var description: String?
    var metadata: [String: String] = [:]
    /// The sources attached, oldest first.
    var sources: [String] = []
    var defaultSource: String?
    var isDeleted = false

    func json() -> ByteBuffer {
        ByteBuffer(
            bytes: JSONWriter.object { writer in
                writer.field("id", id)
                writer.field("object", "customer")
                if isDeleted {
                    writer.field("deleted", true)
                    return
                }
                writer.nulls("address")
                writer.field("balance", 0)
                writer.field("created", created)
                writer.nulls("currency")
                writer.field("default_source", defaultSource)
                writer.field("delinquent", false)
                writer.field("description", description)
                writer.nulls("discount")
                writer.field("email", email)
                writer.field("livemode", false)
                writer.field("metadata", metadata)
                writer.field("name", name)
                writer.nulls("phone", "shipping")
            }
        )
    }
}
