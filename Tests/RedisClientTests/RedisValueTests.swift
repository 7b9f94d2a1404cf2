import NIOCore
import Testing

@testable import RedisClient

@Suite struct RedisValueTests {
    @Test("an error reply is split into its code and the rest")
    func errorReply() {
        let error = RedisReplyError(line: "LEASELOST 7 w{3}")
        #expect(error.code == "LEASELOST" && error.message == "7 w{3}")
        #expect(error.description == "LEASELOST 7 w{3}")
        #expect(RedisReplyError(line: "EMPTY") == RedisReplyError(code: "EMPTY", message: ""))
        #expect(RedisReplyError(line: "") == RedisReplyError(code: "", message: ""))
    }

    @Test("accessors convert what has a meaning and nothing else")
    func accessors() {
        #expect(RedisValue.bulk(Array("17".utf8)).int == 17)
        #expect(RedisValue.integer(17).string == "17")
        #expect(RedisValue.simpleString("OK").string == "OK")
        #expect(RedisValue.bulk([0xff]).string == "\u{fffd}")
        #expect(RedisValue.array([.null]).array == [.null])
        #expect(
            RedisValue.null.isNull && RedisValue.null.string == nil && RedisValue.null.int == nil
        )
        #expect(RedisValue.bulk([1, 2]).bytes == [1, 2])
        #expect(RedisValue.integer(1).array == nil && RedisValue.integer(1).bytes == nil)
    }

    @Test("arguments are sent byte by byte, with any content")
    func encoding() {
        let command = RedisCommand(
            "SET",
            ["k\r\n", .bytes([0, 255]), .buffer(ByteBuffer(string: "")), 42, "\(-7)", .int(.min)]
        )
        var buffer = ByteBuffer()
        #expect(command.encode(into: &buffer, bytesMax: 1_000))
        let expected =
            Array("*7\r\n$3\r\nSET\r\n$3\r\nk\r\n\r\n$2\r\n".utf8) + [0, 255]
            + Array("\r\n$0\r\n\r\n$2\r\n42\r\n$2\r\n-7\r\n$20\r\n-9223372036854775808\r\n".utf8)
        #expect(Array(buffer.readableBytesView) == expected)
    }

    @Test("a command beyond the limit is refused and leaves nothing behind")
    func tooLong() {
        let command = RedisCommand("SET", ["k", .bytes([UInt8](repeating: 0, count: 1_000))])
        var buffer = ByteBuffer()
        #expect(!command.encode(into: &buffer, bytesMax: 1_000))
        #expect(buffer.readableBytes == 0)
    }

    @Test("describing a command shows no argument")
    func description() {
        let command = RedisCommand("AUTH", ["bob", "hunter2"])
        #expect("\(command)" == "AUTH (2 arguments)")
        #expect(!String(reflecting: command).contains("hunter2"))
    }
}
