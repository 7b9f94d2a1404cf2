import PollerIdentity

/// The paths of a payment's page and its routes, for the browser of the current request (``BasePath``).
struct ReturnPaths {
    private let key: WatchKey

    init(_ key: WatchKey) {
        self.key = key
    }

    var page: String { path() }
    /// The updates of the page.
    var state: String { path("/state") }
    /// The redirect to the bank.
    var onward: String { path("/continue") }
    /// Returns the path to which a form is posted.
    func form(_ form: PayerForm) -> String {
        switch form {
        case .code, .amounts: path("/verify")
        case .account: path("/refund_account")
        }
    }

    private func path(_ tail: String = "") -> String {
        let account = key.account == .main ? "" : "?account=\(key.account)"
        return "\(BasePath.current)/r/\(key.source)\(tail)\(account)"
    }
}

/// The parameters of a customer's URL.
struct ReturnParameters: Sendable {
    /// The ID of the payment, unchecked.
    let payment: String?
    private let query: [String: String]

    fileprivate init(payment: String?, query: [String: String]) {
        self.payment =
            payment ?? query["source"] ?? query["payment_intent"] ?? query["setup_intent"]
        self.query = query
    }

    /// Returns the first parameter with a name that Stripe or this server has added.
    subscript(_ name: String) -> String? { query[name] }
}

extension RouteInput where Value == String {
    /// The payment in the path, unchecked.
    static var payment: Self {
        segment("source", "src_…, pi_… or seti_….")
    }
}

extension RouteInput where Value == ReturnParameters {
    /// Creates the input of a URL with the parameters that Stripe and this server add to a return URL.
    ///
    /// A customer always gets a page, so unknown parameters are ignored. `path` is the payment in the path; without it
    /// the query names the payment.
    static func returnParameters(at path: RouteInput<String>?) -> Self {
        let ofIntents = [
            ("source", "src_…; or payment_intent, setup_intent with their secrets."),
            ("payment_intent", "pi_…"), ("payment_intent_client_secret", "Its secret."),
            ("setup_intent", "seti_…"), ("setup_intent_client_secret", "Its secret."),
        ]
        let ofAll = [
            ("client_secret", "The payment's own; a right one becomes a cookie of 30 minutes."),
            ("redirect_status", "What Stripe adds; never believed."),
            ("livemode", "Must agree with what was seen."),
            ("account", "The account of the watch; default when absent."),
            ("grant", "Leads on to the bank without the secret, as a next_step's url has it."),
        ]
        let described = path == nil ? ofIntents + ofAll : ofAll
        let parameters = described.map { name, description in
            RouteParameter(
                name: name,
                location: .query,
                description: description,
                schema: ["type": "string"]
            )
        }
        // Added by this server: the number of loads without a script.
        let names = (ofIntents + ofAll).map(\.0) + ["n"]
        return Self((path?.parameters ?? []) + parameters) { values throws(Problem) in
            var query: [String: String] = [:]
            for name in names { query[name] = values.query(name) }
            return ReturnParameters(payment: try path?.read(values), query: query)
        }.lenient(knowing: names)
    }
}
