// Which keys of a block each row of a tile sees, as bits: ranges, documents, block lists and masks
// become one bit per row and key here, whatever kernel asks.
#pragma once

#include "kernels/isa.hpp"
#include "kernels/kernel_table.hpp"
#include "kernels/simd.hpp"

namespace lookback::kernels::inline LOOKBACK_KERNEL_ISA {

/// Bit j of a block: the row sees key first + j.
struct KeyBits {
  std::uint64_t word[2];

  friend KeyBits operator&(KeyBits a, KeyBits b) {
    return {{a.word[0] & b.word[0], a.word[1] & b.word[1]}};
  }
  friend KeyBits operator|(KeyBits a, KeyBits b) {
    return {{a.word[0] | b.word[0], a.word[1] | b.word[1]}};
  }
  friend bool operator==(KeyBits a, KeyBits b) {
    return a.word[0] == b.word[0] && a.word[1] == b.word[1];
  }
  bool none() const { return (word[0] | word[1]) == 0; }
  std::int64_t first() const {
    return word[0] ? __builtin_ctzll(word[0]) : 64 + __builtin_ctzll(word[1]);
  }
  std::int64_t end() const {
    return word[1] ? 128 - __builtin_clzll(word[1]) : 64 - __builtin_clzll(word[0]);
  }
  /// `count` <= 64 bits from bit j on.
  std::uint64_t from(std::int64_t j, std::int64_t count) const {
    std::uint64_t bits = j < 64 ? word[0] >> j : word[1] >> (j - 64);
    if (j > 0 && j < 64) bits |= word[1] << (64 - j);
    return count == 64 ? bits : bits & ((std::uint64_t{1} << count) - 1);
  }
};
static_assert(kKeyBlock == 128);

/// The lowest n bits, n from 0 to 64.
inline std::uint64_t low_bits(std::int64_t n) {
  return n >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << greater(n, 0)) - 1;
}

inline KeyBits range_bits(std::int64_t begin, std::int64_t end) {
  return {{low_bits(end) & ~low_bits(begin), low_bits(end - 64) & ~low_bits(begin - 64)}};
}

/// The bytes that are not 0, of 64 or fewer.
template <class A>
inline std::uint64_t nonzero_bits(const std::uint8_t* bytes, std::int64_t stride, std::int64_t n) {
  if (stride == 0) return bytes[0] ? low_bits(n) : 0;
  if (stride == 1 && n == 64) return nonzero_bits_64<A>(bytes);
  std::uint64_t bits = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    bits |= static_cast<std::uint64_t>(bytes[j * stride] != 0) << j;
  }
  return bits;
}

template <class A>
inline KeyBits mask_bits(const std::uint8_t* mask, std::int64_t stride, std::int64_t n) {
  const std::int64_t low = smaller(n, 64);
  return {{nonzero_bits<A>(mask, stride, low),
           n > 64 ? nonzero_bits<A>(mask + 64 * stride, stride, n - 64) : 0}};
}

/// The keys whose document is the row's. uniform: all n keys have the first one's id.
inline KeyBits document_bits(const std::int64_t* ids, std::int64_t id, bool uniform,
                             std::int64_t n) {
  if (uniform) return range_bits(0, ids[0] == id ? n : 0);
  KeyBits bits{};
  for (std::int64_t j = 0; j < n; ++j) {
    bits.word[j / 64] |= static_cast<std::uint64_t>(ids[j] == id) << (j % 64);
  }
  return bits;
}

inline KeyBits block_bits(const Visibility& v, const std::uint8_t* blocks, std::int64_t first,
                          std::int64_t n) {
  KeyBits bits{};
  for (std::int64_t j = 0; j < n;) {
    const std::int64_t block = (first + j) / v.keys_per_block;
    const std::int64_t left = v.keys_per_block - (first + j) % v.keys_per_block;
    const std::int64_t next = j + smaller(left, n - j);
    if (blocks[block * v.block_stride]) bits = bits | range_bits(j, next);
    j = next;
  }
  return bits;
}

/// What ranges alone say of some rows: keys that one of them may see, keys that all of them see.
struct RangeOfRows {
  std::int64_t first, end, all_first, all_end;

  RangeOfRows(const Row* rows, std::int64_t n_rows)
      : first(rows[0].first_key), end(rows[0].end_key), all_first(first), all_end(end) {
    for (std::int64_t r = 0; r < n_rows; ++r) {
      first = smaller(first, rows[r].first_key);
      end = greater(end, rows[r].end_key);
      all_first = greater(all_first, rows[r].first_key);
      all_end = smaller(all_end, rows[r].gap_first);
    }
  }
  bool all_see(std::int64_t from, std::int64_t to) const {
    return all_first <= from && to <= all_end;
  }
};

/// The keys [first, first + n) of one block that `Rows` rows see, and what a tile needs to know.
template <int Rows>
struct VisibleKeys {
  KeyBits row[Rows];  // not set if whole()
  KeyBits some;       // seen by some row
  KeyBits all;        // seen by all rows

  bool none() const { return some.none(); }
  std::int64_t from() const { return some.first(); }
  std::int64_t to() const { return some.end(); }
  /// Nothing between from() and to() is hidden from anyone.
  bool whole() const { return all == range_bits(from(), to()); }

  void see_all(std::int64_t n) { some = all = range_bits(0, n); }

  /// Bit i of word[r]: row r sees key first + i. Not if whole().
  template <class Word>
  void words_from(std::int64_t first, Word (&word)[Rows]) const {
    for (int r = 0; r < Rows; ++r) {
      word[r] = static_cast<Word>(row[r].from(first, 8 * sizeof(Word)));
    }
  }

  template <class A, class T>
  void look(const RowBlock<T>& block, std::int64_t first_row, std::int64_t n_rows,
            std::int64_t first, std::int64_t n) {
    const Row* rows = block.rows + first_row;
    const RangeOfRows range(rows, n_rows);
    some = {};
    if (range.end <= first || range.first >= first + n) return;
    const bool in_range = range.all_see(first, first + n);
    if (!block.visibility && in_range) return see_all(n);
    all = range_bits(0, n);
    for (std::int64_t r = 0; r < n_rows; ++r) {
      row[r] = in_range ? all : range_of(rows[r], first, n);
    }
    if (block.visibility) narrow<A>(*block.visibility, first_row, n_rows, first, n);
    for (std::int64_t r = 0; r < n_rows; ++r) {
      some = some | row[r];
      all = all & row[r];
    }
    for (std::int64_t r = n_rows; r < Rows; ++r) row[r] = row[n_rows - 1];
  }

 private:
  static KeyBits range_of(const Row& row, std::int64_t first, std::int64_t n) {
    const auto at = [&](std::int64_t key) { return clamp(key - first, 0, n); };
    return range_bits(at(row.first_key), at(row.gap_first)) |
           range_bits(at(row.gap_end), at(row.end_key));
  }

  template <class A>
  void narrow(const Visibility& v, std::int64_t first_row, std::int64_t n_rows, std::int64_t first,
              std::int64_t n) {
    const RowVisibility* rows = v.rows + first_row;
    bool uniform = true;
    if (v.key_documents) {
      const std::int64_t* ids = v.key_documents + first;
      for (std::int64_t j = 1; j < n; ++j) uniform &= ids[j] == ids[0];
    }
    KeyBits mask{}, blocks{};
    for (std::int64_t r = 0; r < n_rows; ++r) {
      if (v.key_documents) {
        row[r] = row[r] & document_bits(v.key_documents + first, rows[r].document, uniform, n);
      }
      if (v.has_blocks) {
        if (r == 0 || rows[r].blocks != rows[r - 1].blocks) {
          blocks = block_bits(v, rows[r].blocks, first, n);
        }
        row[r] = row[r] & blocks;
      }
      if (v.has_mask) {
        if (r == 0 || rows[r].mask != rows[r - 1].mask) {
          mask = mask_bits<A>(rows[r].mask + first * v.mask_key_stride, v.mask_key_stride, n);
        }
        row[r] = row[r] & mask;
      }
    }
  }
};

}  // namespace lookback::kernels::inline LOOKBACK_KERNEL_ISA
