import Hummingbird
import Logging
import Poller
import PollerIdentity
import PollerWire

/// Submissions of a service for a payer, whom it has asked on its own page.
///
/// All requests are idempotent: the same values are the same attempt at the upstream. The return page uses the same
/// `PayerSubmissions`.
struct PayerRoutes {
    private static let verify = Route(
        .post,
        "/v1/watches/{source}/verify",
        "verifyWatch",
        "Hand in the code a payer was sent, or the amounts of two deposits",
        "The watch is due at once, so the payment's own change is told as any other is.",
        access: .key(.helpPayers),
        input: .watch,
        repeats: .byNature(
            "the same values are one try at the upstream, and nothing of what payers say is kept here"
        ),
        body: .json(.shape("Verification")),
        answers: [
            .ok("What the upstream says to it; a wrong code is an answer.", "VerificationResult")
        ],
        problems: [404, 409, 429]
    )

    private static let refundAccount = Route(
        .post,
        "/v1/watches/{source}/refund_attributes",
        "giveRefundAccount",
        "Say where money that came by a transfer goes back to",
        "Asked for by the next step give_refund_account; may be said before. Nothing of it is kept here.",
        access: .key(.helpPayers),
        input: .watch,
        repeats: .byNature(
            "the same values are one try at the upstream, and nothing of what payers say is kept here"
        ),
        body: .json(.shape("RefundAccount")),
        answers: [.json(202, "It is taken, and the watch is looked at.", "Watch")],
        problems: [404, 409, 429]
    )

    let watches: any WatchStore
    let submissions: PayerSubmissions
    let reader: BodyReader

    var routes: [AnsweredRoute] {
        [Self.verify.answered(by: verify), Self.refundAccount.answered(by: give)]
    }

    @Sendable
    private func verify(
        _ key: WatchKey,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        let told = try await reader.object(Verification.self, of: request)
        let values = try Problem.checked { () throws(InvalidInput) in
            try VerificationValues(told.values ?? [])
        }
        guard let snapshot = try await watches.snapshot(of: key) else {
            throw Problem.watchNotFound(key)
        }
        var answer = PollerWire.VerificationResult()
        switch try await submissions.verify(snapshot, with: values) {
        case .accepted: answer.result = Open(.accepted)
        case .refused(let left):
            answer.result = Open(.refused)
            answer.attemptsLeft = left
        case .exhausted:
            answer.result = Open(.exhausted)
            answer.attemptsLeft = 0
        case .notAsked:
            throw Problem(
                .nothingAsked,
                "\(key.source) waits for no code; its next_step says what it waits for."
            )
        case .unknown(let reason):
            context.logger.warning("no answer to a code", metadata: ["error": "\(reason)"])
            throw Problem(
                .upstreamUnavailable,
                "Whether the code was taken is not known; send the same again, it is no other try.",
                retryAfterSeconds: 5
            )
        }
        await context.note("verifyWatch", on: key, in: watches)
        // The values belong to the payer, so the trail has only the submission and its result.
        context.changes.did(
            AuditTarget(.watch, key.source.description),
            of: key.account,
            to: ["result": answer.result.rawValue]
        )
        return Response(answer)
    }

    @Sendable
    private func give(
        _ key: WatchKey,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        let told = try await reader.object(PollerWire.RefundAccount.self, of: request)
        let account = try Problem.checked { () throws(InvalidInput) in
            try Poller.RefundAccount(told)
        }
        guard let snapshot = try await watches.snapshot(of: key) else {
            throw Problem.watchNotFound(key)
        }
        switch try await submissions.give(account, for: snapshot) {
        case .taken: break
        case .refused(let word):
            throw Problem(.invalidValue, "The upstream does not take this account: \(word).")
        case .notAsked:
            throw Problem(
                .nothingAsked,
                "Money of \(key.source) does not go back to an account of this sort."
            )
        case .unknown(let reason):
            context.logger.warning("no answer to an account", metadata: ["error": "\(reason)"])
            throw Problem(
                .upstreamUnavailable,
                "Whether the account was taken is not known; send it again.",
                retryAfterSeconds: 5
            )
        }
        await context.note("giveRefundAccount", on: key, in: watches)
        context.changes.did(AuditTarget(.watch, key.source.description), of: key.account)
        let now = try await watches.snapshot(of: key) ?? snapshot
        return Response(PollerWire.Watch(now), status: .accepted)
    }
}

extension Poller.RefundAccount {
    /// Reads the account of a request.
    fileprivate init(_ wire: PollerWire.RefundAccount) throws(InvalidInput) {
        if let iban = wire.iban {
            guard wire.accountNumber == nil, wire.routingNumber == nil else {
                throw InvalidInput(field: "iban", message: "needs no other number beside it")
            }
            try self.init(holder: wire.holder ?? "", place: .iban(iban))
            return
        }
        if let type = wire.holderType, type.known == nil {
            throw InvalidInput(field: "holder_type", message: "must be individual or company")
        }
        try self.init(
            holder: wire.holder ?? "",
            place: .american(
                routing: wire.routingNumber ?? "",
                number: wire.accountNumber ?? "",
                isCompany: wire.holderType?.known == .company
            )
        )
    }
}
