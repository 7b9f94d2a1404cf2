/// What the sandbox knows about one source type: Stripe's documented flow, usage and fields.
struct SourceKind {
    let flow: String
    let usage: String
    /// The only currencies the method takes; empty for any.
    let currencies: [String]
    /// Owner fields Stripe insists on.
    let ownerRequired: [String]
    /// Fields of the hash named after the type that are null until the bank fills them.
    let nullDetails: [String]
    /// Fields with a value from the start: name and JSON.
    let fixedDetails: [(name: String, json: String)]
    /// Whether a charge stays pending for a while.
    let isAsynchronous: Bool

    private init(
        flow: String,
        usage: String = "single_use",
        currencies: [String] = [],
        ownerRequired: [String] = [],
        details: [String],
        fixed: [(name: String, json: String)] = [],
        isAsynchronous: Bool = false
    ) {
        self.flow = flow
        self.usage = usage
        self.currencies = currencies
        self.ownerRequired = ownerRequired
        nullDetails = details
        fixedDetails = fixed
        self.isAsynchronous = isAsynchronous
    }

    /// Whether a new source of this kind can be charged at once.
    var startsChargeable: Bool { flow == "none" && usage == "reusable" }

    private static let cardFields = [
        "address_line1_check", "address_zip_check", "cvc_check", "dynamic_last4", "name",
        "tokenization_method",
    ]

    /// By type; fields from the OpenAPI specification of 2023-08-16, flows from the guides of each method.
    static let all: [String: SourceKind] = [
        "bancontact": SourceKind(
            flow: "redirect",
            currencies: ["eur"],
            ownerRequired: ["name"],
            details: [
                "bank_code", "bank_name", "bic", "iban_last4", "preferred_language",
                "statement_descriptor",
            ]
        ),
        "giropay": SourceKind(
            flow: "redirect",
            currencies: ["eur"],
            ownerRequired: ["name"],
            details: ["bank_code", "bank_name", "bic", "statement_descriptor"]
        ),
        "ideal": SourceKind(
            flow: "redirect",
            currencies: ["eur"],
            details: ["bank", "bic", "iban_last4", "statement_descriptor"]
        ),
        "sofort": SourceKind(
            flow: "redirect",
            currencies: ["eur"],
            details: [
                "bank_code", "bank_name", "bic", "country", "iban_last4", "preferred_language",
                "statement_descriptor",
            ],
            isAsynchronous: true
        ),
        "p24": SourceKind(
            flow: "redirect",
            currencies: ["eur", "pln"],
            ownerRequired: ["email"],
            details: ["reference"]
        ),
        "eps": SourceKind(
            flow: "redirect",
            currencies: ["eur"],
            ownerRequired: ["name"],
            details: ["reference", "statement_descriptor"]
        ),
        "alipay": SourceKind(
            flow: "redirect",
            details: ["data_string", "native_url", "statement_descriptor"]
        ),
        "three_d_secure": SourceKind(
            flow: "redirect",
            details: ["card", "customer"] + cardFields,
            fixed: [("authenticated", "false"), ("three_d_secure", "\"required\"")]
        ),
        "klarna": SourceKind(
            flow: "redirect",
            details: ["client_token"],
            fixed: [
                ("payment_method_categories", "\"pay_later\""), ("purchase_type", "\"buy\""),
            ]
        ),
        "multibanco": SourceKind(
            flow: "receiver",
            currencies: ["eur"],
            ownerRequired: ["email"],
            details: [
                "refund_account_holder_address_city", "refund_account_holder_address_country",
                "refund_account_holder_address_line1", "refund_account_holder_address_line2",
                "refund_account_holder_address_postal_code",
                "refund_account_holder_address_state", "refund_account_holder_name",
                "refund_iban",
            ],
            fixed: [("entity", "\"12345\""), ("reference", "\"123456789\"")]
        ),
        "wechat": SourceKind(
            flow: "none",
            details: ["qr_code_url"],
            fixed: [("prepay_id", "\"wx_prepay_test\""), ("statement_descriptor", "\"\"")]
        ),
        "card": SourceKind(
            flow: "none",
            usage: "reusable",
            details: cardFields,
            fixed: [
                ("country", "\"US\""), ("funding", "\"credit\""),
                ("fingerprint", "\"Xt5EWLLDS7FJjR1c\""),
            ]
        ),
        "sepa_debit": SourceKind(
            flow: "none",
            usage: "reusable",
            currencies: ["eur"],
            details: ["branch_code"],
            fixed: [
                ("fingerprint", "\"NxdSyRegc9PsMkWy\""),
                ("mandate_reference", "\"NXDSYREGC9PSMKWY\""),
                ("mandate_url", "\"https://hooks.stripe.com/adapter/sepa_debit/file/test\""),
            ],
            isAsynchronous: true
        ),
    ]
}
