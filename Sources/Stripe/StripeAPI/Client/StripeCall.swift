import NIOHTTP1

/// One call of the API, before a client adds its headers.
struct StripeCall: Sendable {
    /// What it does.
    enum Verb: Sendable {
        case get
        case post
        case delete
    }

    /// What it does.
    let verb: Verb
    /// Path and query, encoded.
    let target: String
    /// The encoded body of a POST.
    let form: String?
    /// The same for every try of the call.
    var idempotencyKey: String?

    init(
        _ verb: Verb,
        _ path: String,
        query: [(String, String)] = [],
        form: [(String, String)]? = nil,
        idempotencyKey: String? = nil
    ) {
        self.verb = verb
        target = query.isEmpty ? path : path + "?" + PercentEncoding.form(query)
        self.form = form.map(PercentEncoding.form)
        self.idempotencyKey = idempotencyKey
    }
}

extension StripeCall {
    /// The verb as HTTP has it.
    var method: HTTPMethod {
        switch verb {
        case .get: .GET
        case .post: .POST
        case .delete: .DELETE
        }
    }

    /// A path from literal parts and ids, each id encoded.
    ///
    /// - Throws: ``StripeError/invalidRequest(_:)`` for an id that would address something else: an empty one the
    ///   collection, a dot segment another resource.
    static func path(
        _ root: String,
        _ ids: String...,
        tail: String = ""
    ) throws(StripeError) -> String {
        var path = root
        for id in ids {
            guard !id.isEmpty, id != ".", id != ".." else {
                throw .invalidRequest("the id is empty")
            }
            path += "/" + PercentEncoding.encode(id)
        }
        return path + tail
    }
}
