// lookback: exact attention on CPUs. This header includes all of the C++ interface.
//
//     std::vector<float> q(n * d), k(n * d), v(n * d), out(n * d);   // one head, filled by you
//     lookback::attend(lookback::matrix(q.data(), n, d), ...
//
// tests/build/readme_example.cpp is the whole program. See attend.hpp for what is computed.
#pragma once

#include "lookback/align.hpp"
#include "lookback/attend.hpp"
#include "lookback/error.hpp"
#include "lookback/hooks.hpp"
#include "lookback/merge.hpp"
#include "lookback/target.hpp"
#include "lookback/tensor.hpp"
#include "lookback/visibility.hpp"
