import JSONText
import NIOCore

/// One page of a list that is stored oldest first.
///
/// Cursors are IDs, so objects added in the meantime do not move a position, and iterating with either cursor returns
/// each object once. The page looks for `limit + 1` objects to determine `has_more`.
/// *Source*: <https://docs.stripe.com/api/pagination>.
struct ListPage {
    /// The parameters of every list.
    static let parameters: Set<String> = [
        "created", "ending_before", "expand", "limit", "starting_after",
    ]

    private let limit: Int
    /// The indices of the cursors.
    private let newerThan: Int?
    private let olderThan: Int?
    private let url: String

    /// Reads `limit`, `ending_before` and `starting_after`.
    ///
    /// - Parameters:
    ///   - call: The request.
    ///   - kind: The name of the objects in errors.
    ///   - number: Returns the index of an ID; `nil` for an unknown ID.
    /// - Throws: An error for an invalid limit or an unknown cursor.
    init(_ call: APICall, kind: String, number: (String) -> Int?) throws(APIError) {
        limit = try Self.limit(call)
        newerThan = try Self.cursor(call, "ending_before", kind, number)
        olderThan = try Self.cursor(call, "starting_after", kind, number)
        if newerThan != nil, olderThan != nil {
            throw APIError.invalid(
                "You may only specify one of these: ending_before, starting_after.",
                code: "parameters_exclusive"
            )
        }
        url = call.path
    }

    /// Renders the page, newest first, in Stripe's order.
    ///
    /// - Parameters:
    ///   - numbers: The indices of the list, oldest first.
    ///   - matches: Whether an object belongs to the requested list.
    ///   - json: Returns the JSON of an object.
    /// - Returns: The response.
    func reply(
        _ numbers: Range<Int>,
        where matches: (Int) -> Bool = { _ in true },
        json: (Int) -> ByteBuffer
    ) -> APIReply {
        var picked: [Int] = []
        if let newerThan {
            // The oldest of the newer objects, so that iterating with ending_before returns each object once.
            var number = max(newerThan + 1, numbers.lowerBound)
            while number < numbers.upperBound, picked.count <= limit {
                if matches(number) { picked.append(number) }
                number += 1
            }
        } else {
            var number = min(olderThan ?? numbers.upperBound, numbers.upperBound) - 1
            while number >= numbers.lowerBound, picked.count <= limit {
                if matches(number) { picked.append(number) }
                number -= 1
            }
        }
        let hasMore = picked.count > limit
        if hasMore { picked.removeLast() }
        if newerThan != nil { picked.reverse() }
        let body = JSONWriter.object { writer in
            writer.field("object", "list")
            writer.array("data") { writer in
                for number in picked { writer.raw(json(number).readableBytesView) }
            }
            writer.field("has_more", hasMore)
            writer.field("url", url)
        }
        return APIReply(body: body)
    }

    /// Returns the `limit` of a request: at most 100, otherwise 10.
    static func limit(_ call: APICall) throws(APIError) -> Int {
        let limit = try call.form.positive("limit") ?? 10
        guard limit <= 100 else {
            throw APIError.invalid(
                "This value must be less than or equal to 100.",
                code: "parameter_invalid_integer",
                param: "limit"
            )
        }
        return limit
    }

    private static func cursor(
        _ call: APICall,
        _ name: String,
        _ kind: String,
        _ number: (String) -> Int?
    ) throws(APIError) -> Int? {
        guard let id = call.form[name] else { return nil }
        guard let found = number(id) else {
            throw APIError.noSuch(kind, id, param: name, inPath: false)
        }
        return found
    }
}
