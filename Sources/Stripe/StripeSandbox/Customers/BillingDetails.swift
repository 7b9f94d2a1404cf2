import JSONText

/// Billing details, as returned with PaymentMethods and charges.
///
/// *Source*: `billing_details` of <https://docs.stripe.com/api/payment_methods/object>.
struct BillingDetails: Codable, Equatable {
    private static let names: Set<String> = ["address", "email", "name", "phone", "tax_id"]

    var name: String?
    var email: String?
    var phone: String?
    var taxID: String?
    var address = PostalAddress()

    /// Creates empty details.
    init() {}

    /// Creates the details of a Source's owner.
    init(_ owner: SandboxOwner) {
        name = owner.name
        email = owner.email
        phone = owner.phone
        address = PostalAddress(owner.address)
    }

    /// Updates the fields below a path; an empty value unsets a field.
    mutating func update(from form: Form, at path: [String]) throws(APIError) {
        try form.allow(Self.names, below: path)
        func given(_ name: String, _ present: String?) -> String? {
            guard let text = form[path: path + [name]] else { return present }
            return text.isEmpty ? nil : text
        }
        name = given("name", name)
        email = given("email", email)
        phone = given("phone", phone)
        taxID = given("tax_id", taxID)
        if let email, !email.contains("@") {
            throw APIError.invalid(
                "Invalid email address: \(email)",
                code: "email_invalid",
                param: Form.parameterName(path + ["email"])
            )
        }
        try address.update(from: form, at: path + ["address"])
    }

    func render(into writer: inout JSONWriter) {
        writer.object { writer in
            writer.name("address")
            address.render(into: &writer)
            writer.field("email", email)
            writer.field("name", name)
            writer.field("phone", phone)
            writer.field("tax_id", taxID)
        }
    }
}

/// A postal address with Stripe's six fields.
struct PostalAddress: Codable, Equatable {
    static let fields = ["city", "country", "line1", "line2", "postal_code", "state"]

    private(set) var texts: [String: String] = [:]

    init(_ texts: [String: String] = [:]) {
        self.texts = texts
    }

    var isEmpty: Bool { texts.isEmpty }

    subscript(field: String) -> String? { texts[field] }

    /// Updates the fields below a path; an empty value for the whole address unsets all fields.
    mutating func update(from form: Form, at path: [String]) throws(APIError) {
        if form[path: path] == "" { texts = [:] }
        try form.allow(Set(Self.fields), below: path)
        for field in Self.fields {
            guard let text = form[path: path + [field]] else { continue }
            texts[field] = text.isEmpty ? nil : text
        }
    }

    func render(into writer: inout JSONWriter) {
        writer.object { writer in
            for field in Self.fields { writer.field(field, texts[field]) }
        }
    }
}
