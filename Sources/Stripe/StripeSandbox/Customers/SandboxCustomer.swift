import JSONText
import NIOCore

/// A Customer with its cards, Sources and PaymentMethods.
///
/// *Source*: <https://docs.stripe.com/api/customers/object>.
struct SandboxCustomer: OwnedObject, Codable {
    static let kind = "customer"

    let id: String
    let account: String?
    let created: Int
    var name: String?
    var email: String?
    var phone: String?
    var description: String?
    var address = PostalAddress()
    var shipping: Shipping?
    var locales: [String] = []
    var metadata: [String: String] = [:]
    /// The attached Sources and cards, oldest first.
    var sources: [String] = []
    var defaultSource: String?
    /// The attached PaymentMethods, oldest first.
    var methods: [String] = []
    /// `invoice_settings[default_payment_method]`.
    var defaultMethod: String?
    var isDeleted = false

    /// The shipping details.
    struct Shipping: Codable, Equatable {
        var name: String?
        var phone: String?
        var address = PostalAddress()

        func render(into writer: inout JSONWriter) {
            writer.object { writer in
                writer.name("address")
                address.render(into: &writer)
                writer.field("name", name)
                writer.field("phone", phone)
            }
        }
    }

    /// Expanded objects, which replace IDs or are added on request.
    struct Expansion {
        /// The newest Sources, as a list.
        var sources: ByteBuffer?
        var defaultSource: ByteBuffer?
        var defaultMethod: ByteBuffer?
    }

    func json(_ expansion: Expansion = Expansion()) -> ByteBuffer {
        .object { writer in
            writer.field("id", id)
            writer.field("object", "customer")
            if isDeleted {
                writer.field("deleted", true)
                return
            }
            render(into: &writer, expansion)
        }
    }

    private func render(into writer: inout JSONWriter, _ expansion: Expansion) {
        writer.field("address", address.isEmpty ? nil : address) { $0.render(into: &$1) }
        writer.field("balance", 0)
        writer.field("created", created)
        writer.nulls("currency", "customer_account")
        Self.field("default_source", defaultSource, expansion.defaultSource, &writer)
        writer.field("delinquent", false)
        writer.field("description", description)
        writer.nulls("discount")
        writer.field("email", email)
        writer.field("invoice_prefix", String(id.suffix(8)).uppercased())
        writer.object("invoice_settings") { writer in
            writer.nulls("custom_fields")
            Self.field(
                "default_payment_method",
                defaultMethod,
                expansion.defaultMethod,
                &writer
            )
            writer.nulls("footer", "rendering_options")
        }
        writer.field("livemode", false)
        writer.field("metadata", metadata)
        writer.field("name", name)
        writer.field("next_invoice_sequence", 1)
        writer.field("phone", phone)
        writer.field("preferred_locales", locales)
        writer.field("shipping", shipping) { $0.render(into: &$1) }
        if let sources = expansion.sources {
            writer.field("sources", raw: sources.readableBytesView)
        }
        writer.field("tax_exempt", "none")
        writer.nulls("test_clock")
    }

    private static func field(
        _ name: String,
        _ id: String?,
        _ expanded: ByteBuffer?,
        _ writer: inout JSONWriter
    ) {
        if let expanded {
            writer.field(name, raw: expanded.readableBytesView)
        } else {
            writer.field(name, id)
        }
    }

    /// Renders the changed fields with their previous values.
    func differences(from changed: SandboxCustomer) -> [UInt8] {
        JSONWriter.object { writer in
            if address != changed.address {
                writer.field("address", address.isEmpty ? nil : address) { $0.render(into: &$1) }
            }
            if defaultSource != changed.defaultSource {
                writer.field("default_source", defaultSource)
            }
            if description != changed.description { writer.field("description", description) }
            if email != changed.email { writer.field("email", email) }
            if defaultMethod != changed.defaultMethod {
                writer.object("invoice_settings") {
                    $0.field("default_payment_method", defaultMethod)
                }
            }
            if metadata != changed.metadata { writer.field("metadata", metadata) }
            if name != changed.name { writer.field("name", name) }
            if phone != changed.phone { writer.field("phone", phone) }
            if locales != changed.locales { writer.field("preferred_locales", locales) }
            if shipping != changed.shipping {
                writer.field("shipping", shipping) { $0.render(into: &$1) }
            }
        }
    }
}
