package import PollerIdentity
import PollerWatches

extension Endpoint {
    /// Returns the account of an endpoint with these types.
    ///
    /// `account` is the named one; `nil` for none. Errors: `InvalidInput` when types of the cluster are combined with
    /// others, or an account is named with them.
    package static func account(
        asking types: [String],
        named account: AccountID?
    ) throws(InvalidInput) -> AccountID? {
        guard types.contains(where: EventSubject.isOfOperators) else { return account }
        guard account == nil else {
            throw InvalidInput("account", "does not apply if types has operator.…: leave it out")
        }
        return .operators
    }

    /// Rejects types of the cluster together with others, and an endpoint that would change between the two.
    func checkSide() throws(InvalidInput) {
        let named = scope.types.count(where: EventSubject.isOfOperators)
        if account == .operators, named == 0 || named < scope.types.count {
            throw InvalidInput(
                "types",
                "must not be mixed with operator.*: operator events describe the "
                    + "cluster, and "
                    + "payments are delivered to another endpoint"
            )
        }
        if account != .operators, named > 0 {
            throw InvalidInput(
                "types",
                "names operator.…, which need an endpoint of their own: create one"
            )
        }
    }
}
