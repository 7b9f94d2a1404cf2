import NIOCore

/// A PaymentIntent or a SetupIntent: an object that may require a customer action before it is confirmed.
protocol ConfirmableObject: RenderedObject, OwnedObject {
    /// The name in messages.
    static var name: String { get }
    /// The code of an error about its status.
    static var unexpectedState: String { get }
    /// The name of its ID in the return URL.
    static var parameter: String { get }
    /// The failure when the customer declines.
    static var abandoned: PaymentFailure { get }
    /// The failure when the customer's time has expired.
    static var expired: PaymentFailure { get }
    /// The event of each status that has one.
    static var events: [String: String] { get }
    /// Returns the timer that ends the customer's time.
    static func expiry(of id: String) -> SandboxTimer

    var id: String { get }
    var clientSecret: String { get }
    var method: SandboxMethod? { get set }
    var customer: String? { get }
    var status: String { get set }
    var nextAction: SandboxNextAction? { get set }
    var actionEndMs: Int64? { get set }
    var attemptsRemaining: Int { get set }
    var lastError: SandboxPaymentError? { get set }
    var lastRedirect: SandboxRedirect? { get set }
    var latestCharge: String? { get }

    /// Continues with a method that the customer has authorised.
    func proceed(with method: SandboxMethod, in state: inout SandboxState)
    /// Moves the money and updates the method after the status has changed.
    func applyStatusChange(from previous: String, in state: inout SandboxState)
    /// Makes or settles the charge of a failed attempt.
    func failCharge(_ failure: PaymentFailure, in state: inout SandboxState)
}

extension ConfirmableObject {
    /// The statuses in which it may be confirmed.
    static var open: [String] {
        ["requires_payment_method", "requires_confirmation", "requires_action"]
    }

    /// Throws Stripe's error with the allowed statuses unless the status is one of them.
    func require(_ allowed: [String], doing verb: String) throws(APIError) {
        guard allowed.contains(status) else {
            throw APIError.invalid(
                "You cannot \(verb) this \(Self.name) because it has a status of \(status). Only a "
                    + "\(Self.name) with one of the following statuses may be: "
                    + allowed.joined(separator: ", ") + ".",
                code: Self.unexpectedState
            )
        }
    }

    /// Requires an action of the customer, until `endMs` if it is set.
    mutating func require(_ action: SandboxNextAction, endMs: Int64?) {
        nextAction = action
        attemptsRemaining = Microdeposits.attemptsMax
        if case .redirect(let redirect) = action { lastRedirect = redirect }
        actionEndMs = endMs
    }

    /// Returns why the customer's values are rejected; `nil` when they are correct.
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
    /// The table of one kind of intent.
    typealias Table<Object: Sendable> = WritableKeyPath<SandboxState, ObjectTable<Object>>

    /// Returns the JSON of an object; empty for an unknown ID.
    mutating func json<Object: ConfirmableObject>(
        _ table: Table<Object>,
        _ id: String
    ) -> ByteBuffer {
        self[keyPath: table][id]?.json() ?? ByteBuffer()
    }

    /// Moves an object to a status, applies the effects, and announces the change.
    mutating func settle<Object: ConfirmableObject>(
        _ table: Table<Object>,
        _ id: String,
        to status: String
    ) {
        guard var object = self[keyPath: table][id], object.status != status else { return }
        let previous = object.status
        object.status = status
        if ["processing", "requires_capture", "succeeded"].contains(status) {
            object.lastError = nil
        }
        if status != "requires_action" { object.actionEndMs = nil }
        object.changed()
        self[keyPath: table][id] = object
        object.applyStatusChange(from: previous, in: &self)
        announce(table, object, from: previous)
    }

    private mutating func announce<Object: ConfirmableObject>(
        _ table: Table<Object>,
        _ object: Object,
        from previous: String
    ) {
        if previous != object.status { recordStatus(object.id, from: previous, to: object.status) }
        if let event = Object.events[object.status] {
            emit(event, json(table, object.id), account: object.account)
        }
    }

    /// Fails an attempt: the object returns to `requires_payment_method` with the reason.
    ///
    /// An attempt that never reached the bank has no charge (`isCharged`).
    mutating func fail<Object: ConfirmableObject>(
        _ table: Table<Object>,
        _ id: String,
        _ failure: PaymentFailure,
        isCharged: Bool = true
    ) {
        guard let found = self[keyPath: table][id] else { return }
        if isCharged { found.failCharge(failure, in: &self) }
        guard var object = self[keyPath: table][id] else { return }
        object.lastError = SandboxPaymentError(
            failure: failure,
            methodType: found.method?.type ?? "card",
            charge: isCharged ? object.latestCharge : nil,
            method: currentMethod(of: found)?.json()
        )
        object.lastRedirect?.status = "failed"
        object.method = nil
        object.nextAction = nil
        object.actionEndMs = nil
        object.status = "requires_payment_method"
        object.changed()
        self[keyPath: table][id] = object
        announce(table, object, from: found.status)
    }

    /// Continues after the customer's authorisation, or immediately when no action is required.
    mutating func authorise<Object: ConfirmableObject>(_ table: Table<Object>, _ id: String) {
        guard let object = self[keyPath: table][id], let method = object.method else { return }
        self[keyPath: table][id]?.lastRedirect?.status = "succeeded"
        object.proceed(with: method, in: &self)
    }

    /// Requires a customer action, declines the method, or continues with it.
    mutating func confirm<Object: ConfirmableObject>(
        _ table: Table<Object>,
        _ object: Object,
        with method: SandboxMethod,
        _ call: APICall
    ) throws(APIError) {
        let id = object.id
        if let action = try nextAction(of: method, for: id, secret: object.clientSecret, call) {
            if try call.form.flag("error_on_requires_action") == true {
                fail(table, id, .actionRequired)
                throw APIError.declined(.actionRequired, of: (Object.parameter, json(table, id)))
            }
            let endMs = action.lifeMs.map { nowMs + $0 }
            self[keyPath: table][id]?.require(action, endMs: endMs)
            if let endMs { timers.set(Object.expiry(of: id), atMs: endMs) }
            settle(table, id, to: "requires_action")
        } else if case .declined(let failure) = method.outcome {
            fail(table, id, failure)
            throw APIError.declined(
                failure,
                charge: self[keyPath: table][id]?.latestCharge,
                of: (Object.parameter, json(table, id)),
                paymentMethod: method.json()
            )
        } else {
            authorise(table, id)
        }
    }

    /// Handles `POST …/{id}/verify_microdeposits` with `amounts[]` or `descriptor_code`.
    mutating func verify<Object: ConfirmableObject>(
        _ table: Table<Object>,
        _ object: Object,
        _ call: APICall
    ) throws(APIError) {
        guard let refusal = try object.refusal(of: call) else {
            return authorise(table, object.id)
        }
        self[keyPath: table][object.id]?.attemptsRemaining = refusal.left
        if refusal.left == 0 { fail(table, object.id, refusal.failure) }
        throw refusal.error()
    }

    /// Applies the customer's decision on a page; without a pending action it does nothing.
    mutating func decide<Object: ConfirmableObject>(
        _ table: Table<Object>,
        _ id: String,
        authorised: Bool
    ) {
        guard self[keyPath: table][id]?.status == "requires_action" else { return }
        if authorised { authorise(table, id) } else { fail(table, id, Object.abandoned) }
    }

    /// Applies the bank's decision.
    mutating func settleProcessing<Object: ConfirmableObject>(
        _ table: Table<Object>,
        _ id: String
    ) {
        guard let object = self[keyPath: table][id], object.status == "processing" else { return }
        if case .failsLater(let failure) = object.method?.outcome {
            fail(table, id, failure)
        } else {
            settle(table, id, to: "succeeded")
        }
    }

    /// Fails the attempt when the customer's time has expired.
    mutating func expire<Object: ConfirmableObject>(_ table: Table<Object>, _ id: String) {
        guard let endMs = self[keyPath: table][id]?.actionEndMs, endMs <= nowMs else { return }
        fail(table, id, Object.expired)
    }

    /// Lists an account's intents of one kind, optionally of one customer.
    func list<Object: ConfirmableObject>(
        _ table: ObjectTable<Object>,
        _ call: APICall
    ) throws(APIError) -> APIReply {
        try Self.requireSecretKey(call)
        return try table.list(
            call,
            by: ["customer": { $0.customer }, "payment_method": { $0.method?.id }]
        ) { $0.json() }
    }
}
