/// The limits of one reply.
///
/// ``RedisConfiguration`` gives the reasons.
struct RedisReplyLimits: Hashable {
    let bytesMax: Int
    let elementsMax: Int
    let depthMax: Int

    init(bytesMax: Int, elementsMax: Int, depthMax: Int) {
        self.bytesMax = bytesMax
        self.elementsMax = elementsMax
        self.depthMax = depthMax
    }

    init(_ configuration: RedisConfiguration) {
        self.init(
            bytesMax: configuration.replyBytesMax,
            elementsMax: configuration.replyElementsMax,
            depthMax: configuration.replyDepthMax
        )
    }
}

/// The reason why a server's bytes cannot be decoded.
///
/// The connection cannot be used afterwards.
enum RedisCodecError: Error, Hashable {
    /// A reply exceeds a limit.
    case tooLarge(String)
    /// The bytes are not RESP2.
    case malformed(String)

    /// The error reported for the command whose reply this was.
    var commandError: RedisError {
        switch self {
        case .tooLarge(let detail): .replyTooLarge(detail)
        case .malformed(let detail): .protocolError(detail)
        }
    }
}

/// Scans bytes before hiredis does and withholds those that would harm it.
///
/// hiredis 0.14 trusts every announced length: `*1000000000` makes it allocate 8 GB, and
/// `$9999999999` makes it buffer without end. Each byte therefore passes this state machine first.
/// It follows the framing only (types, lengths, nesting, line ends), copies nothing, and accepts
/// fragments of any size. A violation is detected before its line is complete, so hiredis never
/// acts on it.
///
/// Rejected: checking the lengths in hiredis' object functions, because 0.14 has already multiplied
/// by then and 1.x differs. Rejected: writing a parser, because hiredis is the one that is tested
/// most widely.
struct RedisReplyGuard {
    /// The result of inspecting a fragment.
    struct Verdict: Equatable {
        /// The number of bytes that may be passed to hiredis.
        let accepted: Int
        /// The reason why the byte after the accepted ones is rejected; `nil` if all were accepted.
        let violation: RedisCodecError?
    }

    /// What the number in a header counts.
    private enum Kind {
        case integer
        case bulk
        case array
    }

    /// The syntax element that the next byte belongs to.
    private enum State {
        case type
        case text
        case textEnd
        case number(Kind)
        case numberEnd(Kind)
        case body
        case bodyReturn
        case bodyEnd
    }

    /// The longest status or error line.
    ///
    /// Lines of Redis itself are below 1 KiB, those of scripts a little longer.
    static let lineBytesMax = 65_536

    private let limits: RedisReplyLimits
    private var state = State.type
    /// The number of elements still expected, for each open array.
    private var open: [Int] = []
    private var replyBytes = 0
    private var replyElements = 0
    private var lineBytes = 0
    private var digits = 0
    private var isNegative = false
    private var number = 0
    private var bodyRemaining = 0

    init(limits: RedisReplyLimits) {
        self.limits = limits
    }

    /// Inspects the next bytes from the server.
    mutating func inspect(_ bytes: UnsafeRawBufferPointer) -> Verdict {
        var index = 0
        while index < bytes.count {
            if case .body = state {
                let step = min(bodyRemaining, bytes.count - index)
                bodyRemaining -= step
                replyBytes += step
                index += step
                if bodyRemaining == 0 { state = .bodyReturn }
                continue
            }
            replyBytes += 1
            do throws(RedisCodecError) {
                guard replyBytes <= limits.bytesMax else { throw tooManyBytes }
                try unsafe advance(bytes[index])
            } catch {
                return Verdict(accepted: index, violation: error)
            }
            index += 1
        }
        return Verdict(accepted: index, violation: nil)
    }

    private mutating func advance(_ byte: UInt8) throws(RedisCodecError) {
        switch state {
        case .type: try begin(byte)
        case .text:
            lineBytes += 1
            guard lineBytes <= Self.lineBytesMax else {
                throw .tooLarge("a line of more than \(Self.lineBytesMax) bytes")
            }
            guard byte != UInt8(ascii: "\n") else { throw .malformed("a line feed inside a line") }
            if byte == UInt8(ascii: "\r") { state = .textEnd }
        case .textEnd:
            try expect(byte, UInt8(ascii: "\n"))
            complete()
        case .number(let kind):
            if byte == UInt8(ascii: "\r") {
                try checkNumber(kind)
                state = .numberEnd(kind)
            } else {
                try appendDigit(byte)
            }
        case .numberEnd(let kind):
            try expect(byte, UInt8(ascii: "\n"))
            finishNumber(kind)
        case .body: break
        case .bodyReturn:
            try expect(byte, UInt8(ascii: "\r"))
            state = .bodyEnd
        case .bodyEnd:
            try expect(byte, UInt8(ascii: "\n"))
            complete()
        }
    }

    private mutating func begin(_ byte: UInt8) throws(RedisCodecError) {
        lineBytes = 0
        digits = 0
        isNegative = false
        number = 0
        switch byte {
        case UInt8(ascii: "+"), UInt8(ascii: "-"): state = .text
        case UInt8(ascii: ":"): state = .number(.integer)
        case UInt8(ascii: "$"): state = .number(.bulk)
        case UInt8(ascii: "*"):
            guard open.count < limits.depthMax else {
                throw .tooLarge("arrays nested more than \(limits.depthMax) deep")
            }
            state = .number(.array)
        default: throw .malformed("byte \(byte) in place of a reply's type")
        }
    }

    private mutating func appendDigit(_ byte: UInt8) throws(RedisCodecError) {
        if byte == UInt8(ascii: "-"), digits == 0, !isNegative {
            isNegative = true
            return
        }
        guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else {
            throw .malformed("byte \(byte) inside a number")
        }
        // Accumulated as a negative number, because the negative range is larger by one.
        let (product, overflow) = number.multipliedReportingOverflow(by: 10)
        let (sum, underflow) = product.subtractingReportingOverflow(
            Int(clamping: byte - UInt8(ascii: "0"))
        )
        guard !overflow, !underflow, digits < 20 else { throw .malformed("a number out of range") }
        digits += 1
        number = sum
    }

    /// Rejects invalid lengths before hiredis sees the end of their line.
    private mutating func checkNumber(_ kind: Kind) throws(RedisCodecError) {
        guard digits > 0 else { throw .malformed("a number without digits") }
        if !isNegative {
            guard number != .min else { throw .malformed("a number out of range") }
            number = -number
        }
        switch kind {
        case .integer: return
        case .bulk:
            guard number >= -1 else { throw .malformed("a string of negative length") }
            guard number <= limits.bytesMax - replyBytes else { throw tooManyBytes }
        case .array:
            guard number >= -1 else { throw .malformed("an array of negative length") }
            guard number <= limits.elementsMax - replyElements else {
                throw .tooLarge("more than \(limits.elementsMax) elements")
            }
        }
    }

    private mutating func finishNumber(_ kind: Kind) {
        switch kind {
        case .integer: complete()
        case .bulk:
            bodyRemaining = number
            if number < 0 { complete() } else { state = number == 0 ? .bodyReturn : .body }
        case .array:
            guard number > 0 else { return complete() }
            replyElements += number
            open.append(number)
            state = .type
        }
    }

    /// Completes a value and every array whose last element it was.
    private mutating func complete() {
        state = .type
        while let remaining = open.popLast() {
            guard remaining == 1 else {
                open.append(remaining - 1)
                return
            }
        }
        replyBytes = 0
        replyElements = 0
    }

    private func expect(_ byte: UInt8, _ expected: UInt8) throws(RedisCodecError) {
        guard byte == expected else { throw .malformed("byte \(byte) in place of a line end") }
    }

    private var tooManyBytes: RedisCodecError {
        .tooLarge("more than \(limits.bytesMax) bytes")
    }
}
