/// Who pays, as given, and what the bank confirmed of it.
struct SandboxOwner {
    static let addressFields = ["city", "country", "line1", "line2", "postal_code", "state"]

    var name: String?
    var email: String?
    var phone: String?
    var address: [String: String] = [:]
    /// Whether the bank confirmed the name.
    var isVerified = false

    func render(into writer: inout JSONWriter) {
        writer.object { writer in
            writer.key("address")
            if address.isEmpty {
                writer.value(nil as String?)
            } else {
                writer.object { writer in
                    for name in Self.addressFields { writer.field(name, address[name]) }
                }
            }
            writer.field("email", email)
            writer.field("name", name)
            writer.field("phone", phone)
            writer.nulls("verified_address", "verified_email")
            writer.field("verified_name", isVerified ? name ?? "Jenny Rosen" : nil)
            writer.nulls("verified_phone")
        }
    }
}
