/// What PaymentIntents and SetupIntents have in common: a customer may have to act to confirm them.
protocol ConfirmableObject: RenderedObject {
    /// The name in messages.
    static var name: String { get }
    /// The name in errors about an id.
    static var kind: String { get }
    /// The code of an error about its status.
    static var unexpectedState: String { get }

    var account: String? { get }
    var customer: String? { get }
    var status: String { get }
    var nextAction: SandboxNextAction? { get set }
    var actionEndMs: Int64? { get set }
    var attemptsRemaining: Int { get set }
    var lastRedirect: SandboxRedirect? { get set }
}

extension ConfirmableObject {
    /// The customer has to do this next, until `endMs` if that is set.
    mutating func ask(for action: SandboxNextAction, endMs: Int64?) {
        nextAction = action
        attemptsRemaining = Microdeposits.attemptsMax
        if case .redirect(let redirect) = action { lastRedirect = redirect }
        actionEndMs = endMs
    }

    /// Why the values a customer typed in are refused; nil when they are right.
    func refusal(of call: APICall) throws(APIError) -> Microdeposits.Refusal? {
        guard case .microdeposits = nextAction, status == "requires_action" else {
            throw APIError.invalid(
                "This \(Self.name) has no micro-deposits to verify.",
                code: Self.unexpectedState
            )
        }
        let amounts = call.form.list("amounts")
        let values = call.form["descriptor_code"].map { [$0] } ?? amounts
        guard !values.isEmpty else { throw APIError.missing("amounts") }
        return Microdeposits.refusal(of: values, left: attemptsRemaining)
    }
}

extension SandboxState {
    /// A page of an account's intents of one kind, of one customer if that is asked for.
    func list<Object: ConfirmableObject>(
        _ table: ObjectTable<Object>,
        _ call: APICall
    ) throws(APIError) -> APIReply {
        try Self.requireSecretKey(call)
        let customer = call.form["customer"]
        return try ListPage(call, kind: Object.kind) { table.number(of: $0) }
            .reply(table.all) { number in
                table[number].account == call.account
                    && (customer == nil || table[number].customer == customer)
            } json: { number in
                var object = table[number]
                return object.json()
            }
    }
}
