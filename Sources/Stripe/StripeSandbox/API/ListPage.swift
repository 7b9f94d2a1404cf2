import JSONText
import NIOCore

/// One page of a list that is kept oldest first.
///
/// Cursors are ids, which stand for places: what is added meanwhile does not move a reader's
/// place, and a walk with either cursor sees each element once. `limit + 1` elements are looked
/// for, which is how `has_more` is known.
/// *Source*: <https://docs.stripe.com/api/pagination>.
struct ListPage {
    private let limit: Int
    /// The numbers of the cursors given.
    private let newerThan: Int?
    private let olderThan: Int?
    private let url: String

    /// Reads `limit`, `ending_before` and `starting_after`.
    ///
    /// - Parameters:
    ///   - call: The request for the page.
    ///   - kind: What the elements are called in errors.
    ///   - number: The number of an id; nil when there is none.
    /// - Throws: A bad limit, or a cursor that names nothing.
    init(_ call: APICall, kind: String, number: (String) -> Int?) throws(APIError) {
        limit = try call.form.positive("limit") ?? 10
        guard limit <= 100 else {
            throw APIError.invalid(
                "This value must be less than or equal to 100.",
                code: "parameter_invalid_integer",
                param: "limit"
            )
        }
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

    /// Renders the page, newest first, as Stripe orders it.
    ///
    /// - Parameters:
    ///   - numbers: The list's numbers, oldest first.
    ///   - matches: Whether an element belongs to the list asked for.
    ///   - json: An element's JSON.
    /// - Returns: The answer.
    func reply(
        _ numbers: Range<Int>,
        where matches: (Int) -> Bool = { _ in true },
        json: (Int) -> ByteBuffer
    ) -> APIReply {
        var picked: [Int] = []
        if let newerThan {
            // The oldest of the newer ones: walking on with ending_before sees every element once.
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
