import JSONText
import PollerIdentity
import PollerWire

extension Problem {
    /// The parsing limits of a request.
    ///
    /// A request nests three deep, and a higher limit would only help an attacker. A batch of 10,000 items with a few
    /// endpoints and some metadata each has up to 400,000 values. The largest object is metadata with its 50 keys.
    private static let limits = JSONLimits(depthMax: 16, valuesMax: 400_000, membersMax: 64)

    /// Returns the single JSON value of a body, or of a line of it.
    static func checkedJSON(
        _ bytes: [UInt8],
        _ range: Range<Int>? = nil,
        limits: JSONLimits = Self.limits
    ) throws(Problem) -> RawJSON {
        do throws(JSONError) {
            return try RawJSON(checking: bytes, range: range, limits: limits)
        } catch {
            throw Problem(.invalidJSON, "At \(error.place(in: bytes)): \(error.message).")
        }
    }

    /// Decodes an object of a request.
    static func reading<Object: WireObject>(
        _ type: Object.Type,
        _ json: RawJSON
    ) throws(Problem) -> Object {
        do throws(WireError) {
            return try Object(reading: json)
        } catch {
            throw Problem(ProblemCode(error.code), error.message, field: error.field)
        }
    }
}

extension ProblemCode {
    fileprivate init(_ code: WireError.Code) {
        self =
            switch code {
            case .unknownField: .unknownField
            case .missingField: .missingField
            case .wrongType: .wrongType
            case .invalidValue: .invalidValue
            }
    }
}

extension Problem {
    /// Runs a check of the domain, and turns its error into a problem of the client.
    static func checked<Value>(
        _ code: ProblemCode = .invalidValue,
        _ check: () throws(InvalidInput) -> Value
    ) throws(Problem) -> Value {
        do throws(InvalidInput) {
            return try check()
        } catch {
            throw Problem(code, error)
        }
    }
}
