import Hummingbird
import Logging
import Poller
import PollerIdentity
import PollerOperations
import PollerPayments
import PollerWatches
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
        "Submit the payer's verification code, or the amounts of two deposits",
        "The watch is due at once, so the payment's change is delivered like any other.",
        access: .key(.helpPayers),
        input: .watch,
        idempotency: .inherent(
            "the same values count as one attempt at the upstream, and payer input is not stored"
        ),
        body: .json(.shape("Verification")),
        answers: [
            .ok("The upstream's response. A wrong code is a valid response.", "VerificationResult")
        ],
        problems: [404, 409, 429]
    )

    private static let refundAccount = Route(
        .post,
        "/v1/watches/{source}/refund_attributes",
        "giveRefundAccount",
        "Submit the bank account for the refund of a bank transfer",
        "Required by the next step give_refund_account, and accepted before it. The "
            + "data is not stored.",
        access: .key(.helpPayers),
        input: .watch,
        idempotency: .inherent(
            "the same values count as one attempt at the upstream, and payer input is not stored"
        ),
        body: .json(.shape("RefundAccount")),
        answers: [.json(202, "The account was accepted, and the watch is due now.", "Watch")],
        problems: [404, 409, 429]
    )

    let watches: any WatchStore
    let submissions: PayerSubmissions
    let reader: BodyReader

    var routes: [AnsweredRoute] {
        [Self.verify.answered(by: verify), Self.refundAccount.answered(by: submitRefundAccount)]
    }

    private func verify(
        _ key: WatchKey,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        let input = try await reader.object(Verification.self, of: request)
        let values = try Problem.checked { () throws(InvalidInput) in
            try VerificationValues(input.values ?? [])
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
        case .notRequired:
            throw Problem(
                .nothingAsked,
                "\(key.source) does not require a code; next_step is the step it requires."
            )
        case .unknown(let reason):
            context.logger.warning("no answer to a code", metadata: ["error": "\(reason)"])
            throw Problem(
                .upstreamUnavailable,
                "It is unknown whether the code was accepted; send the same code again, "
                    + "which does not count as another attempt.",
                retryAfterSeconds: 5
            )
        }
        await context.note("verifyWatch", on: key, in: watches)
        // The values belong to the payer, so the trail has only the submission and its result.
        context.changes.recordAction(
            AuditTarget(.watch, key.source.description),
            of: key.account,
            to: ["result": answer.result.rawValue]
        )
        return Response(answer)
    }

    private func submitRefundAccount(
        _ key: WatchKey,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        let input = try await reader.object(PollerWire.RefundAccount.self, of: request)
        let account = try Problem.checked { () throws(InvalidInput) in
            try PollerPayments.RefundAccount(input)
        }
        guard let snapshot = try await watches.snapshot(of: key) else {
            throw Problem.watchNotFound(key)
        }
        switch try await submissions.submitRefundAccount(account, for: snapshot) {
        case .taken: break
        case .refused(let word):
            throw Problem(.invalidValue, "The upstream rejects this account: \(word).")
        case .notRequired:
            throw Problem(
                .nothingAsked,
                "\(key.source) cannot be refunded to an account of this type."
            )
        case .unknown(let reason):
            context.logger.warning("no answer to an account", metadata: ["error": "\(reason)"])
            throw Problem(
                .upstreamUnavailable,
                "It is unknown whether the account was accepted; send it again.",
                retryAfterSeconds: 5
            )
        }
        await context.note("giveRefundAccount", on: key, in: watches)
        context.changes.recordAction(AuditTarget(.watch, key.source.description), of: key.account)
        // The account is accepted, also if the store does not answer now.
        let now = (try? await watches.snapshot(of: key)) ?? snapshot
        return Response(PollerWire.Watch(now), status: .accepted)
    }
}

extension PollerPayments.RefundAccount {
    /// Reads the account of a request.
    fileprivate init(_ wire: PollerWire.RefundAccount) throws(InvalidInput) {
        if let iban = wire.iban {
            guard wire.accountNumber == nil, wire.routingNumber == nil else {
                throw InvalidInput("iban", "cannot be combined with another number")
            }
            try self.init(holder: wire.holder ?? "", identifier: .iban(iban))
            return
        }
        if let type = wire.holderType, type.known == nil {
            throw InvalidInput("holder_type", "must be individual or company")
        }
        try self.init(
            holder: wire.holder ?? "",
            identifier: .american(
                routing: wire.routingNumber ?? "",
                number: wire.accountNumber ?? "",
                isBusiness: wire.holderType?.known == .company
            )
        )
    }
}
