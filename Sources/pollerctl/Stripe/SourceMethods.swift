import ArgumentParser

/// A payment method of `pollerctl source create` with its options and parameters.
struct SourceMethod {
    /// The name on the command line.
    let name: String
    /// Stripe's type.
    let type: String
    /// The required options.
    let needs: [String]
    /// The optional ones, including `--email`.
    let takes: [String]
    /// Options that are fields of this type but top-level parameters for other types.
    private let own: [String]
    /// Fixed parameters.
    private let fixed: [String: String]

    /// Describes a method; options are separated by spaces.
    private init(
        _ name: String,
        type: String? = nil,
        needs: String = "",
        takes: String = "",
        own: String = "",
        _ fixed: [String: String] = [:]
    ) {
        func words(_ text: String) -> [String] { text.split(separator: " ").map(String.init) }
        self.name = name
        self.type = type ?? name
        self.needs = words(needs)
        let hasEmail = words(needs + " " + takes).contains("email")
        self.takes = words(takes) + (hasEmail ? [] : ["email"])
        self.own = words(own)
        self.fixed = fixed
    }

    private static let euros = ["currency": "eur"]
    private static let text = "statement-descriptor"
    private static let address = "line1 city postal-code country"

    /// The methods of Stripe's SDKs.
    static let all = [
        SourceMethod("bancontact", needs: "amount name return-url", takes: text, own: text, euros),
        SourceMethod("card", takes: "number cvc exp-month exp-year token name \(address)"),
        SourceMethod("giropay", needs: "amount name return-url", takes: text, own: text, euros),
        SourceMethod(
            "ideal",
            needs: "amount return-url",
            takes: "name \(text) bank",
            own: text,
            euros
        ),
        SourceMethod("sepa_debit", needs: "name iban", takes: address, euros),
        SourceMethod(
            "sofort",
            needs: "amount return-url country",
            takes: text,
            own: "country \(text)",
            euros
        ),
        SourceMethod(
            "klarna",
            needs: "currency return-url purchase-country item",
            takes: "first-name last-name email phone \(address)",
            ["flow": "redirect", "klarna[product]": "payment"]
        ),
        SourceMethod("three_d_secure", needs: "amount currency return-url card"),
        SourceMethod(
            "alipay",
            needs: "amount currency return-url",
            takes: "app-bundle-id app-version-key"
        ),
        SourceMethod(
            "alipay_reusable",
            type: "alipay",
            needs: "currency return-url",
            ["usage": "reusable"]
        ),
        SourceMethod("p24", needs: "amount currency email return-url", takes: "name"),
        SourceMethod("visa_checkout", type: "card", needs: "call-id"),
        SourceMethod("masterpass", type: "card", needs: "cart-id transaction-id"),
        SourceMethod("eps", needs: "amount name return-url", takes: text, euros),
        SourceMethod("multibanco", needs: "amount email return-url", euros),
        SourceMethod("wechat", needs: "amount currency app-id", takes: text, own: text),
        SourceMethod("bitcoin", needs: "amount currency email"),
    ]

    /// Returns the form that creates a source of a known method or of any other Stripe type.
    ///
    /// Parameters are sorted by name, so that a repeated request with the same idempotency key has the same bytes.
    /// Throws a usage error that lists missing and unsupported options.
    static func form(_ name: String, _ fields: SourceFields) throws -> [(String, String)] {
        let isWord = name.utf8.allSatisfy { byte in
            (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x5F
        }
        guard isWord, !name.isEmpty else {
            throw ValidationError("invalid TYPE \(name): TYPE is a payment method such as ideal")
        }
        let known = all.first { $0.name == name }
        let method =
            known
            ?? SourceMethod(
                name,
                takes: "amount currency name phone return-url token \(text) \(address)"
            )
        try method.check(fields, isKnown: known != nil)
        return try method.form(fields)
    }

    private func form(_ fields: SourceFields) throws -> [(String, String)] {
        var form = fixed
        form["type"] = type
        let (items, sum) = try fields.order(in: fields.currency ?? "")
        if !items.isEmpty { form["amount"] = "\(sum)" }
        for (option, parameter, value) in fields.given
        where option != "item" && !leavesOut(option, fields) {
            let field = "\(type)[\(option.replacing("-", with: "_"))]"
            form[own.contains(option) ? field : parameter ?? field] = value
        }
        for (parameter, value) in fields.common { form[parameter] = value }
        return form.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } + items
    }

    /// Whether to omit an option: Klarna rejects partial customer data and an address in another country.
    private func leavesOut(_ option: String, _ fields: SourceFields) -> Bool {
        guard name == "klarna", takes.contains(option) else { return false }
        let needed = Set(takes).subtracting(["phone"])
        return fields.country != fields.purchaseCountry
            || !needed.isSubset(of: fields.given.map(\.option))
    }

    private func check(_ fields: SourceFields, isKnown: Bool) throws {
        let given = Set(fields.given.map(\.option))
        let missing = needs.filter { !given.contains($0) }
        guard missing.isEmpty else {
            throw ValidationError("\(name) is missing \(Self.list(missing)); \(usage)")
        }
        let foreign = given.subtracting(needs).subtracting(takes).sorted()
        if let first = foreign.first {
            throw ValidationError(
                isKnown
                    ? "\(name) does not accept \(Self.list(foreign)); \(usage)"
                    : "\(name) does not accept --\(first); send other fields with --param \(name)[NAME]=VALUE"
            )
        }
        if name == "card", given.isDisjoint(with: ["token", "number"]) {
            throw ValidationError(
                "card requires --token, or --number with --exp-month and --exp-year"
            )
        }
    }

    /// The required and optional options on one line.
    private var usage: String {
        let needed = needs.isEmpty ? "no option is required" : "required: \(Self.list(needs))"
        return takes.isEmpty ? needed : "\(needed); optional: \(Self.list(takes))"
    }

    private static func list(_ options: [String]) -> String {
        options.map { "--\($0)" }.joined(separator: ", ")
    }
}
